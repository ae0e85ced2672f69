//! What testpmd says that it has counted: pure.

use crate::polling::{PORTS, PortCounters};

/// The command that shows everything that decides.
pub(super) const COMMAND: &str = "show fwd stats all";
/// Its answer ends with the second line that has this: the first one is the head of the sums.
pub(super) const LAST: (&str, usize) = ("+++++++++++++++", 2);

/// The counters of both ports since the start in an answer to [`COMMAND`] ("Testpmd Application User Guide", `show fwd`):
/// RX-dropped is the driver's imissed. None if they are not all there.
pub(super) fn parse(answer: &[String]) -> Option<[PortCounters; PORTS]> {
    let mut ports = [None; PORTS];
    for (port, slot) in ports.iter_mut().enumerate() {
        let head = format!("Forward statistics for port {port} ");
        let start = answer.iter().position(|line| line.contains(&head))?;
        let section = answer[start + 1..].iter().take_while(|line| !line.contains("------"));
        let section: Vec<&String> = section.collect();
        let value = |name: &str| {
            let mut behind = section.iter().filter_map(|line| line.split_once(name));
            behind.next()?.1.split_whitespace().next()?.parse().ok()
        };
        *slot = Some(PortCounters {
            rx_packets: value("RX-packets:")?,
            rx_dropped: value("RX-dropped:")?,
            tx_packets: value("TX-packets:")?,
            tx_dropped: value("TX-dropped:")?,
        });
    }
    let [Some(first), Some(second)] = ports else { return None };
    Some([first, second])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// dpdk-testpmd 22.11.11 of Debian 12, loaded by another testpmd (txonly) that takes nothing back: the queues of
    /// 1,024 frames are full, all else is dropped. Each port passes on what the other one has received.
    const SAID: &str = "testpmd> show fwd stats all

  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 13210176       RX-dropped: 0             RX-total: 13210176
  TX-packets: 1024           TX-dropped: 13209152      TX-total: 13210176
  ----------------------------------------------------------------------------

  ---------------------- Forward statistics for port 1  ----------------------
  RX-packets: 13210176       RX-dropped: 0             RX-total: 13210176
  TX-packets: 1024           TX-dropped: 13209152      TX-total: 13210176
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 26420352       RX-dropped: 0             RX-total: 26420352
  TX-packets: 2048           TX-dropped: 26418304      TX-total: 26420352
  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++
";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn both_ports_are_read_and_their_sum_is_not_a_port() {
        let [near, far] = parse(&lines(SAID)).expect("both ports");
        let port = PortCounters {
            rx_packets: 13_210_176,
            rx_dropped: 0,
            tx_packets: 1_024,
            tx_dropped: 13_209_152,
        };
        assert_eq!((near, far), (port, port));
        assert_eq!(near.tx_packets + near.tx_dropped, far.rx_packets, "nothing else is lost");
    }

    #[test]
    fn the_answer_ends_with_its_last_line() {
        let said = lines(SAID);
        let ends = said.iter().filter(|line| line.contains(LAST.0)).count();
        assert_eq!(ends, LAST.1);
        assert!(said.last().is_some_and(|line| line.contains(LAST.0)));
    }

    #[test]
    fn an_answer_that_is_cut_short_is_no_answer() {
        let said = lines(SAID);
        // Whatever follows the last counter of port 1 is not needed.
        let whole = said.iter().rposition(|line| line.contains("13209152")).expect("a counter");
        for length in 0..=whole {
            assert_eq!(parse(&said[..length]), None, "{length} lines");
        }
        assert!(parse(&said[..=whole]).is_some());
        assert_eq!(parse(&lines(&SAID.replace("13209152 ", "a lot "))), None);
    }
}
