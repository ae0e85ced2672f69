//! The bets made on trials, and which loads they exclude.

/// No bet puts more on one side than this.
const BOLDEST: f64 = 0.95;
/// No bet is made below this.
const DARING: f64 = 0.55;

/// What came out at a load so much further off, as a difference of logarithms, says little of the middle.
const FAR: f64 = 0.4;

/// What the trials so far say.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    trials: Vec<Bet>,
}

/// A trial with the bet made on it.
#[derive(Clone, Copy, Debug)]
struct Bet {
    load: u64,
    /// What came out, where frames were lost.
    carried: Option<u64>,
    /// Logarithm of the factor on the money that bets on loss; 0 where nothing was bet.
    on_loss: f64,
    /// The same for the money that bets on none.
    on_none: f64,
}

impl Evidence {
    /// Takes in a trial on which the share `guess` was bet on loss before: `load` is what was offered in
    /// it where nothing was lost, else what was intended.
    pub fn record(&mut self, load: u64, carried: Option<u64>, guess: f64) {
        let is_lossy = carried.is_some();
        let guess = guess.clamp(1.0 - BOLDEST, BOLDEST);
        let factor = |g: f64| if is_lossy { (2.0 * g).ln() } else { (2.0 * (1.0 - g)).ln() };
        let on_loss = if guess >= DARING { factor(guess) } else { 0.0 };
        let on_none = if guess <= 1.0 - DARING { factor(guess) } else { 0.0 };
        self.trials.push(Bet { load, carried, on_loss, on_none });
    }

    /// Takes in a trial on which nothing was bet: it guides, and proves nothing.
    pub fn hint(&mut self, load: u64, carried: Option<u64>) {
        self.trials.push(Bet { load, carried, on_loss: 0.0, on_none: 0.0 });
    }

    /// Logarithms of the loads, and whether frames were lost.
    pub fn outcomes(&self) -> Vec<(f64, bool)> {
        self.trials
            .iter()
            .map(|bet| ((bet.load.max(1) as f64).ln(), bet.carried.is_some()))
            .collect()
    }

    /// By how much, as a difference of logarithms, what came out scatters around its median, where frames
    /// were lost: the mean deviation. Loads far from `centre` (a logarithm) tell of other things.
    pub fn scatter(&self, centre: f64) -> Option<f64> {
        let carried = self.trials.iter().filter_map(|bet| bet.carried);
        let mut logs: Vec<f64> = carried.map(|carried| (carried.max(1) as f64).ln()).collect();
        logs.retain(|log| (log - centre).abs() < FAR);
        logs.sort_by(f64::total_cmp);
        let median = *logs.get(logs.len() / 2)?;
        let sum: f64 = logs.iter().map(|log| (log - median).abs()).sum();
        (logs.len() > 1).then(|| sum / (logs.len() - 1) as f64)
    }

    /// Trials that lost at `load` or below, less trials that did not at `load` or above.
    fn balance(&self, load: u64) -> i64 {
        let lossy =
            self.trials.iter().filter(|bet| bet.carried.is_some() && bet.load <= load).count();
        let clean =
            self.trials.iter().filter(|bet| bet.carried.is_none() && bet.load >= load).count();
        lossy as i64 - clean as i64
    }

    /// Where the two balance, or else half way between the highest load of more clean trials and the
    /// lowest of more lossy ones.
    pub fn estimate(&self) -> Option<u64> {
        let at = |is: &dyn Fn(i64) -> bool| {
            let all = self.trials.iter().map(|bet| bet.load);
            let loads = all.filter(|load| is(self.balance(*load)));
            loads.clone().min().zip(loads.max())
        };
        let between = |low: u64, high: u64| (low as f64 * high as f64).sqrt() as u64;
        if let Some((low, high)) = at(&|balance| balance == 0) {
            return Some(between(low, high));
        }
        let (below, above) = (at(&|balance| balance < 0)?, at(&|balance| balance > 0)?);
        Some(between(below.1, above.0))
    }

    /// Logarithm of the money that the truth is not above `load`.
    pub fn against_above(&self, load: u64) -> f64 {
        self.trials.iter().filter(|bet| bet.load <= load).map(|bet| bet.on_loss).sum()
    }

    /// Logarithm of the money that the truth is above `load`.
    pub fn against_below(&self, load: u64) -> f64 {
        self.trials.iter().filter(|bet| bet.load > load).map(|bet| bet.on_none).sum()
    }

    /// Between which loads the truth lies, but for a chance of `error`; `None` for an open end.
    pub fn interval(&self, error: f64) -> (Option<u64>, Option<u64>) {
        let needed = (2.0 / error).ln();
        let is_out =
            |load| self.against_above(load) >= needed || self.against_below(load) >= needed;
        let mut loads: Vec<u64> = self.trials.iter().map(|bet| bet.load).collect();
        loads.sort_unstable();
        loads.dedup();
        // What is said of a load holds for all from there up to just below the next.
        let is_out_below = loads.first().is_some_and(|first| is_out(first.saturating_sub(1)));
        let first_in = loads.iter().position(|load| !is_out(*load));
        let last_in = loads.iter().rposition(|load| !is_out(*load));
        let low = match (is_out_below, first_in) {
            (true, Some(index)) => Some(loads[index]),
            _ => None,
        };
        let high = match last_in {
            Some(index) => loads.get(index + 1).copied(),
            None if is_out_below => None,
            None => loads.first().copied(),
        };
        (low, high)
    }
}
