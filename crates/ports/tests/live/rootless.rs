//! An ordinary user gets AF_PACKET ports inside a user namespace of his own.
//!
//! The test runs itself again as nobody: namespaces belong to whole processes.

use crate::bed;
use ports::{LiveOptions, LiveTester, PortType};
use std::process::Command;
use testbed::{DeviceKind, TestbedConfig};
use trial::conformance::{Load, run_accounted};
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

/// Set for the run as nobody.
const INSIDE: &str = "NETANVIL_TEST_INSIDE";
const NOBODY: &str = "65534";
/// The test below, as the harness calls it.
const TEST: &str = "live::rootless::an_ordinary_user_gets_af_packet_and_a_lossless_trial";

#[test]
fn an_ordinary_user_gets_af_packet_and_a_lossless_trial() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let _turn = bed::turn::wait();
    // Nobody may not read this project's folders; the program alone is enough.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("rootless");
    std::fs::copy(std::env::current_exe().expect("this program"), &program).expect("copy it");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).expect("open the folder");
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .args(["unshare", "--user", "--map-root-user", "--net"])
        .arg(&program)
        .args(["--exact", TEST, "--nocapture"])
        .env(INSIDE, "1")
        .current_dir("/")
        .output()
        .expect("setpriv");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

fn inside() {
    let testbed = bed::build_within_turn(&TestbedConfig::of(DeviceKind::Loopback));
    let ports = bed::open_with_room(&testbed, PortType::AUTO, FrameSize::MAX_ETHERNET, None);
    let ports = ports.expect("open the ports");
    assert_eq!(ports[0].describe().port_type, "af_packet");
    let reason = &ports[0].describe().reason;
    assert!(reason.contains("not xdp") && reason.contains("run as root"), "{reason}");

    let mut tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");
    let load = Load {
        paths: &bed::paths(&testbed)[..1],
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(2_000),
        duration: Duration::from_ms(200),
        key: Key::from_seed(5),
    };
    let result = run_accounted(&mut tester, &load.trial("rootless"));
    assert_eq!((result.forwarded_frames(), result.lost_frames()), (400, 0));
    drop(tester);
    let refused = bed::open_with_room(&testbed, PortType::AF_XDP, FrameSize::MAX_ETHERNET, None);
    let error = refused.err().expect("no AF_XDP for an ordinary user").to_string();
    assert!(error.contains("--port-type af_packet"), "{error}");
}
