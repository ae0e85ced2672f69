"""The first program in the guest's full root: mounts what is missing, tries each feature, tells the host, turns off."""

import json
import os
import pathlib
import subprocess
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from features import FEATURES, Found, by_name  # noqa: E402
from machine import MODELS, mac  # noqa: E402

SHARE = pathlib.Path("/run/kernels-share")
MOUNTS = [
    ("proc", "proc", "/proc", None),
    ("sysfs", "sys", "/sys", None),
    ("devpts", "devpts", "/dev/pts", None),
    ("tmpfs", "shm", "/dev/shm", "mode=1777,size=50%"),
    ("hugetlbfs", "huge", "/dev/hugepages", None),
    ("bpf", "bpf", "/sys/fs/bpf", None),
    ("cgroup2", "cgroup", "/sys/fs/cgroup", None),
]
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root", "LANG": "C.UTF-8", "RUST_BACKTRACE": "0",
    # A translated processor carries no more of frames of 9,018 bytes.
    "NETANVIL_CONFORMANCE_FPS": "1000",
}


class Guest:
    """What a feature may ask of the machine that it runs on."""

    def __init__(self, orders):
        self.orders = orders

    def run(self, command, limit_s=120, **more):
        """A command to its end; its whole output. Code 124 where it was stopped."""
        try:
            return subprocess.run(
                [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", env=ENVIRONMENT, timeout=limit_s, **more,
            )
        except subprocess.TimeoutExpired as stopped:
            told = [(part or b"").decode(errors="replace") for part in (stopped.stdout, stopped.stderr)]
            return subprocess.CompletedProcess(command, 124, told[0], f"{told[1]}\nstopped after {limit_s} s")

    def load(self, module):
        """Loads a module; the kernel's words where it cannot."""
        ran = self.run(["modprobe", module])
        return ran.stderr.strip() if ran.returncode else None

    def cards(self, model):
        """The two cards of a model, as folders of PCI devices by the order of their MAC addresses."""
        found = {}
        for folder in pathlib.Path("/sys/class/net").iterdir():
            address = (folder / "address").read_text().strip()
            found[address] = folder.name
        names = [found.get(mac(MODELS.index(model), end)) for end in (0, 1)]
        return names if all(names) else None


def prepare(orders):
    for kind, source, target, options in MOUNTS:
        pathlib.Path(target).mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", kind, source, target, *(["-o", options] if options else [])]
        subprocess.run(command, env=ENVIRONMENT)
    ENVIRONMENT["NETANVIL_FRR"] = orders["frr"]
    os.environ.update(ENVIRONMENT)
    modules = pathlib.Path("/usr/lib/modules") / os.uname().release
    modules.parent.mkdir(exist_ok=True)
    if not modules.exists():
        modules.symlink_to(orders["modules"])
    subprocess.run(["ip", "link", "set", "lo", "up"])
    for module in orders["load"]:
        subprocess.run(["modprobe", module])
    # Memory for DPDK, as long as it is in one piece.
    pathlib.Path("/proc/sys/vm/nr_hugepages").write_text("200")


def attempt(guest, feature):
    try:
        return feature.run(guest)
    except Exception:  # A mistake of the rig is told as such; the other features still run.
        return Found("not run", "the rig failed: " + traceback.format_exc().strip().splitlines()[-1])


def main():
    orders = json.loads((SHARE / "orders.json").read_text())
    prepare(orders)
    guest = Guest(orders)
    uname = os.uname()
    results = {"release": uname.release, "version": uname.version, "features": {}}
    wanted = [by_name(name) for name in orders["only"]] if orders["only"] else FEATURES
    for feature in wanted:
        print(f"kernels: {feature.name}", flush=True)
        found = attempt(guest, feature)
        print(f"kernels: {feature.name}: {found.verdict} {found.why}", flush=True)
        results["features"][feature.name] = {"verdict": found.verdict, "why": found.why, "output": found.output[-20000:]}
        text = json.dumps(results, indent=1)
        (SHARE / "results.json.new").write_text(text)
        (SHARE / "results.json.new").rename(SHARE / "results.json")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
    os.sync()
    # Not `os.reboot`, which Python lacks; a first program must not end.
    subprocess.run(["/bin/busybox", "poweroff", "-f"])
