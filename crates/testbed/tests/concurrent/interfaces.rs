//! Facts about interfaces, and taking and giving back ports that exist already.

use crate::common::can_build;
use kernel::{InterfaceFacts, Namespace, REWRITING_FEATURES};
use std::process::Command;
use testbed::{DeviceKind, HardwarePorts, Testbed, TestbedConfig};

#[test]
fn nothing_rewrites_frames_on_tester_ports() {
    if !can_build("nothing_rewrites_frames_on_tester_ports") {
        return;
    }
    for kind in [DeviceKind::LinuxRouter, DeviceKind::LinuxBridge, DeviceKind::Loopback] {
        let testbed = Testbed::build(&TestbedConfig::of(kind)).expect("build");
        for port in testbed.ports() {
            let read = || InterfaceFacts::read(&port.interface);
            let facts = testbed.tester().run(read).expect("enter").expect("read");
            assert_eq!(facts.features_on(&REWRITING_FEATURES), Vec::<&str>::new(), "{kind:?}");
            assert_eq!(facts.index, port.interface_index);
            assert_eq!(facts.mac, Some(port.mac));
            assert_eq!(facts.mtu_bytes, 1500);
            assert_eq!(facts.kind.as_deref(), Some("veth"));
            assert_eq!(facts.driver.as_deref(), Some("veth"));
            assert!(facts.up && facts.carrier && facts.ethernet && !facts.xdp_attached);
            assert!(facts.addresses.is_empty());
            assert!(!facts.has_default_route);
        }
        if let Some(device) = testbed.device() {
            let facts =
                device.namespace().run(InterfaceFacts::read_all).expect("enter").expect("read");
            for port in facts.iter().filter(|f| f.name.starts_with("dut")) {
                // Without an XDP program GRO is what gives a veth its receive ring.
                let needed: &[&str] = if port.xdp_attached { &[] } else { &["rx-gro"] };
                assert_eq!(port.features_on(&REWRITING_FEATURES), needed);
            }
            let addressed =
                facts.iter().filter(|f| f.name.starts_with("dut") && !f.addresses.is_empty());
            assert_eq!(addressed.count(), if kind == DeviceKind::LinuxRouter { 2 } else { 0 });
        }
    }
}

/// A namespace that plays the machine, with a pair of "cards" in it.
struct Machine(Namespace);

impl Machine {
    fn new() -> Self {
        let machine = Machine(Namespace::create_anonymous("machine").expect("namespace"));
        machine.ip("link add card0 type veth peer name card1");
        machine.ip("link set card0 up");
        machine.ip("link set card1 up");
        machine
    }

    fn ip(&self, arguments: &str) {
        let run = || Command::new("ip").args(arguments.split(' ')).status().expect("ip");
        assert!(self.0.run(run).expect("enter").success(), "ip {arguments}");
    }

    fn take(&self, names: &[&str]) -> Result<HardwarePorts, testbed::TestbedError> {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        self.0.run(|| HardwarePorts::take(&names)).expect("enter")
    }

    fn features_on(&self, name: &str) -> Vec<&'static str> {
        let facts = self.0.run(|| InterfaceFacts::read(name)).expect("enter").expect("read");
        facts.features_on(&REWRITING_FEATURES)
    }
}

#[test]
fn hardware_ports_are_given_back_as_they_were() {
    if !can_build("hardware_ports_are_given_back_as_they_were") {
        return;
    }
    let machine = Machine::new();
    let before = machine.features_on("card0");
    assert!(before.contains(&"tx-tcp-segmentation"), "{before:?}");
    let taken = machine.take(&["card0", "card1"]).expect("take");
    assert_eq!(taken.shortfalls(), Vec::<String>::new());
    assert_eq!(taken.ports()[0].driver.as_deref(), Some("veth"));
    assert_eq!(taken.ports()[0].features_on(&REWRITING_FEATURES), Vec::<&str>::new());
    assert_eq!(machine.features_on("card0"), Vec::<&str>::new());
    machine.0.run(|| taken.give_back()).expect("enter").expect("give back");
    assert_eq!(machine.features_on("card0"), before);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "links come back in real time")]
fn a_link_that_its_last_user_has_reset_is_waited_for() {
    if !can_build("a_link_that_its_last_user_has_reset_is_waited_for") {
        return;
    }
    let machine = Machine::new();
    machine.ip("link set card1 down");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            machine.ip("link set card1 up");
        });
        machine.take(&["card0"]).map(drop).expect("the link has come back");
    });
}

#[test]
fn unfit_ports_are_refused_with_the_remedy() {
    if !can_build("unfit_ports_are_refused_with_the_remedy") {
        return;
    }
    let machine = Machine::new();
    let refusal = |names: &[&str]| machine.take(names).expect_err("refused").to_string();
    assert!(refusal(&["card0", "card7"]).contains("card7 does not exist"));
    assert!(refusal(&["card0", "card0"]).contains("named twice"));
    assert!(refusal(&["lo"]).contains("not Ethernet"));
    machine.ip("link set card1 down");
    assert!(refusal(&["card1"]).contains("ip link set card1 up"));
    assert!(refusal(&["card0"]).contains("no carrier"));
    machine.ip("link set card1 up");
    machine.ip("addr add 192.0.2.1/24 dev card0");
    machine.ip("route add default via 192.0.2.2");
    assert!(refusal(&["card0"]).contains("RFC 6815"));
    machine.ip("link add bridge0 type bridge");
    machine.ip("link set card1 master bridge0");
    assert!(refusal(&["card1"]).contains("nomaster"));
    machine.take(&["card0"]).map(drop).expect_err("the default route is still there");
}
