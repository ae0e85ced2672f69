"""What each kernel is tried for: one `Feature` a row of the table. `run` is called in the guest."""

import dataclasses
import json
import pathlib
import re
from typing import Callable

from machine import MODELS


@dataclasses.dataclass
class Found:
    """How it ended: passed, failed, undecided (the tester was held up) or not run; and why, where it did not pass."""

    verdict: str
    why: str = ""
    output: str = ""


@dataclasses.dataclass
class Feature:
    name: str
    title: str
    group: str
    run: Callable


FEATURES = []


def add(group, name, title, run):
    FEATURES.append(Feature(name, title, group, run))


def by_name(name):
    return next(feature for feature in FEATURES if feature.name == name)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def panic(text):
    """What the first assertion that failed said, in one line."""
    at = re.search(r"panicked at [^\n]*:\n(.*?)(?:\nnote: |\n\n|\Z)", text, re.S)
    return " ".join(at[1].split())[:400] if at else last_line(text)


def judge_tests(ran, count):
    """What the harness of Rust says of so many tests."""
    output = ran.stdout + ran.stderr
    line = re.search(r"test result: \w+\. (\d+) passed; (\d+) failed", output)
    if ran.returncode == 124:
        return Found("failed", last_line(ran.stderr), output)
    if not line:
        return Found("failed", f"exit code {ran.returncode}: {last_line(output)}", output)
    if line[2] != "0":
        return Found("failed", panic(output), output)
    if int(line[1]) != count:
        return Found("not run", f"{line[1]} of {count} tests were found", output)
    for word, verdict in (("SKIPPED", "not run"), ("UNDECIDED", "undecided")):
        told = re.search(rf"^{word} (.*)", output, re.M)
        if told:
            return Found(verdict, told[1], output)
    return Found("passed", "", output)


def tests(package, *names, limit_s=300):
    """Tests of one of the project's binaries, one at a time."""

    def run(guest):
        program = guest.orders["tests"][package]
        command = [program["executable"], "--exact", *names, "--test-threads=1"]
        return judge_tests(guest.run(command, limit_s, cwd=program["folder"]), len(names))

    return run


# 1,000 frames a second each way for 2 s. A tester that is late still sends all of them.
FRAMES = 4000
LOAD = (
    "--rate 1kpps --duration 2s --bidirectional --yes --json --line-rate 1G --sizes 64 --set trial.limits.shortfall=0.9"
).split()


def judge_traffic(ran):
    """Each frame of the schedule was sent, came back once, unchanged, and no other."""
    output = ran.stdout + ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    summary = next((line for line in lines if line.get("event") == "summary"), None)
    if summary is None:
        errors = [line for line in ran.stderr.splitlines() if line.startswith("error")]
        why = errors[0] if errors else f"exit code {ran.returncode}: {last_line(output)}"
        # A driver without XDP is no fault of the port; a program that the kernel does not load is one.
        return Found("not run" if "not possible on this port" in why else "failed", why, output)
    sent, received = summary["sent_frames"], summary["received_frames"]
    wrong = {key: summary[f"{key}_frames"] for key in ("lost", "duplicate", "corrupted", "misdirected", "reordered")}
    fell_short = "; ".join(summary.get("tester_fell_short", []))
    if received != sent or any(wrong.values()):
        told = ", ".join(f"{key} {count}" for key, count in wrong.items() if count)
        invalid = f"; the trial is invalid: {fell_short}" if fell_short else ""
        return Found("failed", f"sent {sent}, received {received}; {told}{invalid}", output)
    if sent != FRAMES or ran.returncode:
        told = fell_short or f"exit code {ran.returncode}"
        return Found("undecided", f"{sent} of {FRAMES} frames were sent and none lost: {told}", output)
    return Found("passed", "", output)


def traffic(guest, ports):
    arguments = [word for port in ports for word in ("--ports", port)]
    return judge_traffic(guest.run([guest.orders["netanvil"], "traffic", *arguments, *LOAD], 120))


def kernel_cards(guest, model):
    """Two interfaces that are up, or what is missing."""
    names = guest.cards(model)
    if not names:
        return None, Found("not run", f"the kernel made no interface of {model}")
    for name in names:
        guest.run(["ip", "link", "set", name, "up"])
    for _ in range(50):
        carriers = [guest.run(["cat", f"/sys/class/net/{name}/carrier"]).stdout.strip() for name in names]
        if carriers == ["1", "1"]:
            return names, None
        guest.run(["sleep", "0.2"])
    return None, Found("failed", f"no carrier within 10 s: {names}")


def port(model, port_type):
    def run(guest):
        names, missing = kernel_cards(guest, model)
        return missing or traffic(guest, [f"{port_type}:{name}" for name in names])

    return run


def boots(guest):
    return Found("passed", "", guest.run(["uname", "-a"]).stdout)


def bind(guest, address, driver):
    """Has a driver take a PCI device, as dpdk-devbind.py does; the kernel's words where it does not."""
    device = pathlib.Path("/sys/bus/pci/devices") / address
    try:
        (device / "driver_override").write_text(driver)
        if (device / "driver").exists():
            (device / "driver/unbind").write_text(address)
        pathlib.Path("/sys/bus/pci/drivers_probe").write_text(address)
    except OSError as error:
        return str(error)
    if (device / "driver").resolve().name == driver:
        return None
    return last_line(guest.run(["dmesg"]).stdout)


def address_of(guest, name):
    path = guest.run(["readlink", "-f", f"/sys/class/net/{name}/device"]).stdout.strip()
    return re.findall(r"/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9])", path)[-1]


def given_to_dpdk(model, driver, prepare=None):
    """Both cards taken from the kernel, tried, and given back."""

    def run(guest):
        why = prepare(guest) if prepare else guest.load(driver)
        if why:
            return Found("not run", why)
        names, missing = kernel_cards(guest, model)
        if missing:
            return missing
        own = guest.run(["readlink", "-f", f"/sys/class/net/{names[0]}/device/driver"]).stdout.strip().split("/")[-1]
        own = "virtio-pci" if own == "virtio_net" else own
        addresses = [address_of(guest, name) for name in names]
        for name in names:
            guest.run(["ip", "link", "set", name, "down"])
        refused = [why for why in (bind(guest, address, driver) for address in addresses) if why]
        if refused:
            found = Found("not run", f"{driver} did not take the card: {refused[0]}")
        else:
            found = traffic(guest, [f"dpdk:{address}" for address in addresses])
        for address in addresses:
            bind(guest, address, own)
        return found

    return run


def without_iommu(guest):
    """vfio's mode without an IOMMU, where the kernel was built with it."""
    config = guest.run(["grep", "-h", "CONFIG_VFIO_NOIOMMU", guest.orders["config"]]).stdout.strip()
    if config != "CONFIG_VFIO_NOIOMMU=y":
        return f"Debian builds it without: {config or 'no CONFIG_VFIO_NOIOMMU'}"
    return "the guest has an IOMMU, so that vfio does not need this mode"


add("Kernel", "boot", "boots, and runs programs of the host", boots)
for kind in ("af_packet", "af_xdp", "xdp"):
    for way, title in (("back_to_back", "back to back"), ("through_a_router", "through a router"), ("through_a_bridge", "through a bridge")):
        add("Conformance on veth", f"conformance-{kind}-{way}", f"{kind} {title}", tests("netanvil-live-tests", f"live::conformance::{kind}_{way}"))
TUNNELS = {
    "gre": ("gre_carries_ipv4", "`--tunnel gre`"),
    "gre6": ("gre_over_ipv6_carries_ipv6", "`--tunnel gre6`, IPv6 in it"),
    "gre6-ipv4": ("gre_over_ipv6_carries_ipv4", "`--tunnel gre6`, IPv4 in it"),
    "6in4": ("ipv6_goes_within_ipv4", "`--tunnel 6in4` (sit)"),
    "4in6": ("ipv4_goes_within_ipv6", "`--tunnel 4in6` (seg6)"),
    "vxlan": ("a_vxlan_carries_ipv6", "`--tunnel vxlan`"),
    "siit": ("siit_translates_both_ways", "`--tunnel siit` (TAYGA)"),
    "groups-gre": ("groups_go_into_gre_and_come_out_of_it", "RFC 3918: groups into GRE and out of it"),
    "groups-vxlan": ("groups_go_into_tunnels_and_come_out_of_them", "RFC 3918: groups into VXLAN and out of it"),
}
for name, (test, title) in TUNNELS.items():
    add("Tunnels that netanvil builds", f"tunnel-{name}", title, tests("netanvil", f"concurrent::tunnels::{test}"))
BETWEEN = {
    "gre": "GRE over IPv4", "ip6gre": "GRE over IPv6", "sit": "sit (6in4)", "ipip": "ipip",
    "ip6tnl_of_ipv4": "ip6tnl, IPv4 within IPv6", "ip6tnl_of_ipv6": "ip6tnl, IPv6 within IPv6",
}
for name, title in BETWEEN.items():
    add("Tunnels between two routers", f"between-{name}", title, tests("netanvil", f"live::tunnels::through_{name}"))
add("Links", "netem-delay", "netem: delay", tests("netanvil", "live::netem::every_frame_is_as_late_as_netem_says"))
add("Links", "netem-duplicate", "netem: duplicates", tests("netanvil", "live::netem::every_duplicate_of_netem_is_counted"))
add("Links", "netem-loss", "netem: loss", tests("netanvil", "live::netem::what_netem_drops_is_what_is_lost"))
SNOOPING = {
    "mldv1": "a_leave_of_mldv1_that_is_not_believed_in_time_is_told", "mldv2": "hosts_of_mldv2_join_a_bridge_and_leave_it",
    "answers": "members_by_mldv1_stay_for_a_trial_longer_than_their_membership",
}
for name, test in SNOOPING.items():
    title = {"answers": "a bridge that asks: MLDv1 members answer"}.get(name, f"a bridge that snoops: {name.replace('mld', 'MLD')}")
    add("Multicast of IPv6", f"mld-{name}", title, tests("netanvil", f"concurrent::snooping::{test}"))
for name in ("mldv1", "mldv2"):
    title = f"groups routed by pim6d (Debian 13's FRR): {name.replace('mld', 'MLD')}"
    add("Multicast of IPv6", f"pim6d-{name}", title, tests("netanvil", f"live::mld_routing::groups_of_{name}_are_routed_to_who_joined"))
for model in MODELS:
    for kind in ("af_packet", "af_xdp", "xdp"):
        add("Network cards", f"{model}-{kind}", f"{model}, {kind}", port(model, kind))
for model in MODELS:
    for driver in ("vfio-pci", "uio_pci_generic"):
        add("DPDK on network cards", f"{model}-{driver}", f"{model}, {driver}", given_to_dpdk(model, driver))
add("DPDK on network cards", "vfio-noiommu", "e1000e, vfio without IOMMU", given_to_dpdk("e1000e", "vfio-pci", without_iommu))
