//! What chronyd says of the time of day that it keeps on this host.
//!
//! "An absolute bound on the computer's clock accuracy (assuming the stratum-1 computer is correct) is given by:
//! clock_error <= |system_time_offset| + root_dispersion + (0.5 * root_delay)" (chronyc(1), `tracking`).
//!
//! The kernel's `maxerror` (adjtimex(2)) is no substitute: what chronyd is still slewing is not in it, and it grows by 500
//! us a second between two looks at a server, which are minutes apart.

use crate::host_time::Claim;
use kernel::time_of_day;
use ports::clock::own_ns;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// chronyd answers on this host or not at all.
const WITHIN: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// A clock that nobody corrects goes wrong by as much (RFC 5905 section 7.1, PHI), beside what chronyd tells of its rate.
const PHI_PPB: f64 = 15_000.0;
/// A host that is its own reference (chronyd's `local`) does not know the time.
const OWN_REFERENCE: &str = "7F7F0101";
/// A time that is known no better is of no use to anybody.
const USEFUL_S: f64 = 1.0;

/// Asks the chronyd of this host. `None` where there is none, or where it does not keep the time.
pub fn ask() -> Option<Claim> {
    let asked_ns = own_ns();
    // With its option `-x` chronyd leaves the kernel's time alone.
    if !time_of_day().is_ok_and(|time| time.is_kept()) {
        return None;
    }
    claim(&tracking()?, asked_ns)
}

/// What `chronyc -c tracking` prints, from one that answers in time.
fn tracking() -> Option<String> {
    let mut chronyc = Command::new("chronyc");
    chronyc.args(["-n", "-c", "tracking"]);
    chronyc.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = chronyc.spawn().ok()?;
    let is_done = ends_in_time(&mut child);
    if !is_done {
        // It has ended, or ends by this.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    Some(text)
}

fn ends_in_time(child: &mut Child) -> bool {
    let until = Instant::now() + WITHIN;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(_) => return false,
        }
    }
    false
}

/// From a line of chronyc(1)'s `tracking` with `-c`: reference, its address, stratum, time of reference, system time,
/// last offset, RMS offset, frequency, residual frequency, skew, root delay, root dispersion, interval, leap status.
fn claim(line: &str, asked_ns: u64) -> Option<Claim> {
    let fields: Vec<&str> = line.trim().split(',').collect();
    let &[reference, _, _, _, system, _, _, _, residual, skew, delay, dispersion, _, leap] =
        fields.as_slice()
    else {
        return None;
    };
    let is_zero = reference.bytes().all(|digit| digit == b'0');
    if leap != "Normal" || reference == OWN_REFERENCE || is_zero {
        return None;
    }
    let number = |field: &str| field.parse::<f64>().ok().filter(|number| number.is_finite());
    let error_s = number(system)?.abs() + number(dispersion)?.abs() + number(delay)?.abs() / 2.0;
    // It prints nine digits.
    let error_ns = (error_s * 1e9).ceil() + 3.0;
    let growth_ppb = PHI_PPB + (number(residual)?.abs() + number(skew)?.abs()) * 1e3;
    let is_useful = error_s < USEFUL_S && growth_ppb < USEFUL_S * 1e9;
    is_useful.then_some(Claim {
        error_ns: error_ns as u64,
        growth_ppb: growth_ppb.ceil() as u64,
        asked_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// chronyd 4.3, some seconds after its start, beside a server on the same host.
    const LINE: &str = "0A090001,10.9.0.1,9,1795805634.724411652,-0.000002557,-0.000000858,0.000000995,-0.076,-0.000,\
                        0.991,0.000011498,0.000002852,4.0,Normal\n";

    /// 2,557 ns still to be corrected, 2,852 ns of dispersion, half of 11,498 ns.
    #[test]
    fn a_claim_is_the_bound_that_chronyc_documents() {
        let read = claim(LINE, 77).expect("a claim");
        assert_eq!(read, Claim { error_ns: 11_158 + 3, growth_ppb: 15_991, asked_ns: 77 });
        // 10 s later.
        assert_eq!(read.error_at(10_000_000_077), 11_161 + 159_910);
        assert_eq!(read.error_at(0), 11_161);
        let slewing = LINE.replace("-0.000002557", "0.051000000");
        assert_eq!(claim(&slewing, 0).expect("a claim").error_ns, 51_000_000 + 8_601 + 3);
    }

    #[test]
    fn who_does_not_know_the_time_claims_nothing() {
        // chronyd with `local`, without a server, before a leap second; no chronyd; rubbish.
        let local = "7F7F0101,,8,1795805622.431170306,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,\
                     0.000000000,0.000000000,0.0,Normal";
        let none = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,\
                    1.000000000,0.0,Not synchronised";
        let leap = LINE.replace("Normal", "Insert second");
        let lost = LINE.replace("0.000002852", "3.5");
        let odd = LINE.replace("0.991", "NaN");
        for line in [local, none, &leap, &lost, &odd, "506 Cannot talk to daemon", "", &LINE[..90]]
        {
            assert_eq!(claim(line, 0), None, "{line}");
        }
    }
}
