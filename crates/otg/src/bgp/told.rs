//! What BIRD tells of a session.

/// Whether a session is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionState {
    /// Of RFC 4271 section 8.2.2, as all that follow.
    #[default]
    Idle,
    /// It connects.
    Connect,
    /// It waits to connect, or to be connected to.
    Active,
    /// Its OPEN has been sent.
    OpenSent,
    /// The neighbour's OPEN has come.
    OpenConfirm,
    /// Routes are told.
    Established,
}

/// What is told of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PeerTold {
    /// Its state.
    pub state: SessionState,
    /// Routes that the neighbour has been told and that stand.
    pub routes_advertised: u64,
    /// Routes that the neighbour has told and that stand.
    pub routes_received: u64,
    /// Withdrawals sent in the session that stands.
    pub withdraws_sent: u64,
    /// Withdrawals received in it.
    pub withdraws_received: u64,
}

impl PeerTold {
    /// Of the lines of `show protocols all NAME`: channels are added up.
    pub fn of(lines: &[String]) -> Result<PeerTold, String> {
        let mut told = PeerTold::default();
        let mut has_state = false;
        for line in lines.iter().map(|line| line.trim()) {
            let Some((name, rest)) = line.split_once(':') else { continue };
            let words: Vec<&str> = rest.split_whitespace().collect();
            match name {
                "BGP state" => {
                    told.state = state(words.first().copied().unwrap_or_default())?;
                    has_state = true;
                }
                "Routes" => {
                    let number_of = |what: &str| number_before(&words, what);
                    told.routes_received += number_of("imported").unwrap_or(0);
                    told.routes_advertised += number_of("exported").unwrap_or(0);
                }
                "Import withdraws" => told.withdraws_received += number(words.first())?,
                "Export withdraws" => told.withdraws_sent += number(words.last())?,
                _ => {}
            }
        }
        if has_state { Ok(told) } else { Err(format!("no BGP state in {lines:?}")) }
    }
}

fn state(word: &str) -> Result<SessionState, String> {
    Ok(match word {
        "Down" | "Idle" | "Close" => SessionState::Idle,
        "Connect" => SessionState::Connect,
        "Active" | "Passive" => SessionState::Active,
        "OpenSent" => SessionState::OpenSent,
        "OpenConfirm" => SessionState::OpenConfirm,
        "Established" => SessionState::Established,
        other => return Err(format!("BIRD has a state {other:?}")),
    })
}

/// `5 imported,`: the number before a word.
fn number_before(words: &[&str], what: &str) -> Option<u64> {
    let at = words.iter().position(|word| word.trim_end_matches(',') == what)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

fn number(word: Option<&&str>) -> Result<u64, String> {
    let word = word.copied().unwrap_or_default();
    word.parse().map_err(|_| format!("BIRD has a count {word:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As BIRD 2.0.12 says it.
    const SAID: &str = "p0         BGP        ---        up     03:31:31.124  Established   
  BGP state:          Established
    Neighbor address: 10.9.0.2
    Neighbor AS:      65002
  Channel ipv4
    State:          UP
    Routes:         2 imported, 3 exported, 2 preferred
    Route change stats:     received   rejected   filtered    ignored   accepted
      Import updates:              2          0          0          0          2
      Import withdraws:            4          0        ---          0          4
      Export updates:              4          2          0        ---          2
      Export withdraws:            7        ---        ---        ---          5
  Channel ipv6
    State:          UP
    Routes:         1 imported, 1 exported, 1 preferred
      Import withdraws:            1          0        ---          0          0
      Export withdraws:            0        ---        ---        ---          0";

    fn of(said: &str) -> Result<PeerTold, String> {
        PeerTold::of(&said.lines().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn channels_are_added_up() {
        let expected = PeerTold {
            state: SessionState::Established,
            routes_advertised: 4,
            routes_received: 3,
            withdraws_sent: 5,
            withdraws_received: 5,
        };
        assert_eq!(of(SAID), Ok(expected));
    }

    #[test]
    fn a_session_that_is_down_has_no_routes() {
        let down = "p0 BGP --- down 03:31:30.253\n  BGP state:          Down\n  Channel ipv4\n    State: DOWN";
        assert_eq!(of(down), Ok(PeerTold::default()));
        assert_eq!(of("  BGP state:   Passive").unwrap().state, SessionState::Active);
    }

    #[test]
    fn what_is_not_understood_is_no_number() {
        assert!(of("").is_err() && of("  BGP state: Purple").is_err());
        assert!(of("  BGP state: Idle\n Import withdraws: many").is_err());
    }
}
