//! Which packets are lost by chance.

use crate::rfc1030::Dice;

/// Loss in bursts: a channel that is good or bad and changes with every packet by chance (Gilbert
/// 1960, Elliott 1963).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// Chance that a good channel is bad for the next packet.
    pub to_bad: f64,
    /// Chance that a bad channel is good for the next packet.
    pub to_good: f64,
    /// Chance that a packet is lost while the channel is bad; none is while it is good.
    pub loss_while_bad: f64,
}

impl Bursts {
    /// Share of packets lost in the long run.
    pub fn mean(&self) -> f64 {
        self.loss_while_bad * self.to_bad / (self.to_bad + self.to_good)
    }
}

/// How packets are lost by chance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    /// None is.
    None,
    /// Each with this chance.
    Random(f64),
    /// In bursts.
    Bursts(Bursts),
}

impl Loss {
    /// Share of packets lost in the long run.
    pub fn mean(&self) -> f64 {
        match self {
            Loss::None => 0.0,
            Loss::Random(share) => *share,
            Loss::Bursts(bursts) => bursts.mean(),
        }
    }
}

/// [`Loss`] at work.
#[derive(Clone, Debug)]
pub struct Chance {
    loss: Loss,
    bad: bool,
}

impl Chance {
    /// With a good channel.
    pub fn new(loss: Loss) -> Chance {
        Chance { loss, bad: false }
    }
    /// Whether the next packet is lost.
    pub fn loses(&mut self, dice: &mut Dice) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Random(share) => dice.unit() < share,
            Loss::Bursts(Bursts { to_bad, to_good, loss_while_bad }) => {
                let turns = if self.bad { to_good } else { to_bad };
                self.bad ^= dice.unit() < turns;
                self.bad && dice.unit() < loss_while_bad
            }
        }
    }
}
