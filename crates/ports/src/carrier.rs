//! Links that lose their carrier as ports are opened. Drivers of network cards (igb, ixgbe, e1000e) reset the card when
//! an XDP program is attached or an offload is switched, and its far end, which may be a port too, sees that.

use crate::{Link, clock};
use trial::TesterError;
use units::Duration;

/// How long a link may take to come back: 1000BASE-T negotiates for up to some 4 s, 10GBASE-T for longer.
const BACK_WITHIN: Duration = Duration::from_secs(15);
/// How long none of them may change before they are taken for steady. The kernel's link watch tells changes that are
/// not urgent once a second.
const STEADY_FOR: Duration = Duration::from_secs(1);
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(10);

/// Waits until links that have changed since their ports were opened are steady, each with how often it had changed by
/// then. Takes no time if none has. A link that was down before, and still is, is left to whoever opened it.
///
/// # Errors
/// If a link does not come back.
pub(crate) fn await_steady(links: &[(&dyn Link, u64)]) -> Result<(), TesterError> {
    let mut known: Vec<u64> = links.iter().map(|(_, changes)| *changes).collect();
    let give_up_at = clock::now() + BACK_WITHIN;
    let mut steady_from = None;
    loop {
        let mut down = None;
        for ((link, at_opening), known) in links.iter().zip(&mut known) {
            let state = link.state()?;
            if state.carrier_changes != *known {
                *known = state.carrier_changes;
                steady_from = Some(clock::now() + STEADY_FOR);
            }
            if *known != *at_opening && !state.carrier {
                down = Some(link.name());
            }
        }
        let now = clock::now();
        match (steady_from, down) {
            (None, _) => return Ok(()),
            (Some(steady_from), None) if now >= steady_from => return Ok(()),
            (_, down) if now >= give_up_at => return Err(not_back(down)),
            _ => std::thread::sleep(LOOK_EVERY),
        }
    }
}

fn not_back(down: Option<&str>) -> TesterError {
    let waited_s = BACK_WITHIN.as_secs_f64();
    let (port, what) = match down {
        Some(name) => (name, "lost its carrier as the port was opened and did not get it back"),
        None => ("of this tester", "came and went"),
    };
    TesterError::PortGone {
        port: port.into(),
        detail: format!(
            "its link {what} within {waited_s} s; look at the cable and at the device's port, or use \
             --port-type af_packet, which attaches no program to the card"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::InterfaceState;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Loses its carrier at one look and gets it back at another.
    struct Flapping {
        looks: AtomicU64,
        lost_at: u64,
        back_at: u64,
    }

    impl Flapping {
        fn new(lost_at: u64, back_at: u64) -> Self {
            Flapping { looks: AtomicU64::new(0), lost_at, back_at }
        }
    }

    impl Link for Flapping {
        fn name(&self) -> &str {
            "eth1"
        }
        fn index(&self) -> u32 {
            1
        }
        fn state(&self) -> Result<InterfaceState, TesterError> {
            let look = self.looks.fetch_add(1, Ordering::Relaxed);
            let changes = u64::from(look >= self.lost_at) + u64::from(look >= self.back_at);
            Ok(InterfaceState {
                carrier: changes % 2 == 0,
                carrier_changes: 7 + changes,
                ..Default::default()
            })
        }
        fn state_if_up(&self) -> Result<InterfaceState, TesterError> {
            self.state()
        }
    }

    #[test]
    fn links_that_do_not_change_take_no_time() {
        let link = Flapping::new(u64::MAX, u64::MAX);
        await_steady(&[(&link, 7)]).expect("steady");
        assert_eq!(link.looks.into_inner(), 1);
    }

    #[test]
    fn a_link_that_is_reset_is_waited_for_and_so_is_its_far_end() {
        let (reset, far_end) = (Flapping::new(0, 20), Flapping::new(5, 30));
        let began = clock::now();
        await_steady(&[(&reset, 7), (&far_end, 7)]).expect("back");
        assert!(clock::now() >= began + STEADY_FOR);
        assert!(far_end.looks.into_inner() > 30, "the far end was down when the wait ended");
    }

    #[test]
    fn a_link_that_stays_away_is_an_error_with_a_remedy() {
        let link = Flapping::new(0, u64::MAX);
        let error = await_steady(&[(&link, 7)]).expect_err("waited for").to_string();
        assert!(error.contains("eth1") && error.contains("--port-type af_packet"), "{error}");
    }
}
