#!/usr/bin/env python3
"""Boots kernels of the distribution in QEMU (TCG) and tries features of netanvil inside; writes docs/kernels.md.

Usage: extras/kernels/kernels.py [--kernels 6.1,backports] [--only NAME,...] [--limit SECONDS] [--page FILE] [--offline]
                                 [--list]

As root, from the project's folder. It builds `netanvil` and its tests. Kernels and QEMU come as packages from the
distribution's mirror into target/kernels; nothing is installed. Exit code 1 if a feature failed.
With --only, the results of other features stay as earlier boots found them; --offline takes kernels that are there.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
from features import FEATURES, by_name  # noqa: E402
from machine import boot  # noqa: E402
from packages import Packages  # noqa: E402
from table import page  # noqa: E402

WORK = ROOT / "target/kernels"
TODAY = datetime.date.today().isoformat()
# Label: release of Debian, suite, meta package, where it comes from.
KERNELS = {
    "6.1": ("bookworm", "bookworm-security", "linux-image-amd64", "Debian 12"),
    "backports": ("bookworm", "bookworm-backports", "linux-image-amd64", "Debian 12's backports"),
    "newest": ("trixie", "trixie-backports", "linux-image-amd64", "Debian 13's backports"),
    "rt": ("bookworm", "bookworm-security", "linux-image-rt-amd64", "Debian 12, PREEMPT_RT"),
}
# That of Debian 12 itself has no igb.
QEMU = [f"{name}/bookworm-backports" for name in ("qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios")]
FRR = [
    "frr", "libc6", "libcap2", "libcares2", "libcrypt1", "libjson-c5", "liblua5.3-0", "libpam0g", "libprotobuf-c1",
    "libreadline8t64", "libtinfo6", "libunwind8", "libyang3", "libpcre2-8-0", "libxxhash0", "liblzma5", "libaudit1",
    "libcap-ng0", "libgcc-s1",
]
# What features need before they are tried; a kernel that lacks one says so in the feature's own words.
LOAD = [
    "veth", "bridge", "e1000e", "igb", "virtio_net", "vmxnet3", "tun", "af_packet", "8021q", "nf_tables", "sch_tbf",
    "sch_netem", "vxlan", "ip_gre", "ip6_gre", "sit", "ipip", "ip6_tunnel", "memfd",
]
# Packages whose tests the guest runs, with their folders.
TESTS = {"netanvil": "crates/cli", "netanvil-live-tests": "tests/live"}


def release_of(label):
    return Packages(WORK / "apt", KERNELS[label][0])


def fetch_qemu():
    """Unpacks QEMU once."""
    folder = WORK / "qemu"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        bookworm = Packages(WORK / "apt", "bookworm")
        bookworm.unpack(bookworm.missing_for(QEMU), folder)
        (folder / "ready").touch()
    return folder


def fetch_frr():
    """FRR with pim6d, which Debian 12's has not, with libraries of its own release: `zebra` and `pim6d` in a folder."""
    folder = WORK / "frr"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        Packages(WORK / "apt", "trixie").unpack(FRR, folder / "root")
        libraries = folder / "root/usr/lib/x86_64-linux-gnu"
        for name in ("zebra", "pim6d"):
            loader = f"{folder}/root/usr/lib64/ld-linux-x86-64.so.2 --library-path {libraries}:{libraries}/frr"
            (folder / name).write_text(f'#!/bin/sh\nexec {loader} {folder}/root/usr/lib/frr/{name} "$@"\n')
            (folder / name).chmod(0o755)
        (folder / "ready").touch()
    return folder


def fetch_kernel(label, is_offline):
    """Unpacks the newest kernel of a suite; what is known of it."""
    folder = WORK / label
    _, suite, meta, _ = KERNELS[label]
    told = folder / "facts.json"
    if is_offline and told.exists():
        return folder, json.loads(told.read_text())
    packages = release_of(label)
    image, package_version = packages.newest(meta, suite)
    facts = {"image": image, "package_version": package_version, "version": image.removeprefix("linux-image-")}
    if not told.exists() or json.loads(told.read_text()) != facts:
        shutil.rmtree(folder, ignore_errors=True)
        root = folder / "root"
        packages.unpack(packages.kernel_parts(image), root)
        if not (root / "lib").exists():
            (root / "lib").symlink_to("usr/lib")
        subprocess.run(["depmod", "-b", root, facts["version"]], check=True)
        told.write_text(json.dumps(facts))
    return folder, facts


def programs():
    """The binaries of the tests, as cargo tells them. It builds the program with them, since tests run it."""
    command = ["cargo", "test", "--no-run", "--quiet", "--message-format=json"]
    command += [word for package in TESTS for word in ("--package", package)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)}: {ran.stderr}")
    found = {}
    for line in ran.stdout.splitlines():
        told = json.loads(line)
        if told.get("executable") and told["target"]["kind"] == ["test"]:
            folder = pathlib.Path(told["manifest_path"]).parent
            for package, own in TESTS.items():
                if folder == ROOT / own:
                    found[package] = {"executable": told["executable"], "folder": str(folder)}
    missing = [package for package in TESTS if package not in found]
    if missing:
        raise SystemExit(f"cargo built no tests of {missing}")
    return found


def try_kernel(label, arguments, tests):
    """Boots one kernel and keeps what it found; whether nothing failed."""
    folder, facts = fetch_kernel(label, arguments.offline)
    root, version = folder / "root", facts["version"]
    images = [path for path in (root / "boot").glob("vmlinuz-*")] + list(root.glob(f"usr/lib/modules/{version}/vmlinuz"))
    configs = list((root / "boot").glob("config-*")) + list(root.glob(f"usr/lib/modules/{version}/config"))
    orders = {
        "only": arguments.only, "load": LOAD, "tests": tests, "netanvil": str(ROOT / "target/debug/netanvil"),
        "frr": str(fetch_frr()), "config": str(configs[0]) if configs else "/dev/null",
    }
    print(f"kernels: booting {version}", flush=True)
    found, why = boot(fetch_qemu(), root, version, images[0], folder, orders, arguments.limit)
    tried = {name: {**result, "date": TODAY} for name, result in found.pop("features").items()}
    kernel = {**found, "why": why, "features": {**earlier(label, facts, arguments.only), **tried}, **facts}
    (WORK / f"{label}.json").write_text(json.dumps(kernel, indent=1))
    for name, result in tried.items():
        print(f"{label}: {by_name(name).title}: {result['verdict']} {result['why']}", flush=True)
    if why:
        print(f"{label}: {why}", flush=True)
    is_whole = why is None and all(result["verdict"] != "failed" for result in tried.values())
    return is_whole


def earlier(label, facts, only):
    """What boots of the same kernel have found of features that are not tried now."""
    kept = WORK / f"{label}.json"
    kernel = json.loads(kept.read_text()) if only and kept.exists() else {}
    return kernel["features"] if kernel.get("package_version") == facts["package_version"] else {}


def all_found():
    """The kernels with results, in the order of their list."""
    found = []
    for label, (_, _, _, origin) in KERNELS.items():
        kept = WORK / f"{label}.json"
        if kept.exists():
            found.append({"label": label, "from": origin, **json.loads(kept.read_text())})
    return found


def arguments_of(words):
    parser = argparse.ArgumentParser(usage=__doc__)
    split = lambda text: [part for part in text.replace(",", " ").split() if part]  # noqa: E731
    parser.add_argument("--kernels", type=split, default=["6.1", "backports", "newest"])
    parser.add_argument("--only", type=split, default=[])
    parser.add_argument("--limit", type=int, default=3600)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--offline", action="store_true")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(words)


def main():
    arguments = arguments_of(sys.argv[1:])
    if arguments.list:
        print("\n".join(f"{feature.name:40} {feature.group}: {feature.title}" for feature in FEATURES))
        return 0
    if os.geteuid():
        raise SystemExit("kernels: run it as root; the guest reads the host's root")
    needed = ("apt-get", "dpkg-deb", "modprobe", "depmod", "busybox", "cargo")
    missing = [program for program in needed if not shutil.which(program)]
    if missing:
        raise SystemExit(f"kernels: not installed: {', '.join(missing)}; `make setup` installs what Debian has of them")
    tests = programs()
    is_whole = [try_kernel(label, arguments, tests) for label in arguments.kernels]
    if arguments.page:
        arguments.page.write_text(page(TODAY, all_found(), FEATURES))
        print(f"kernels: wrote {arguments.page}")
    return 0 if all(is_whole) else 1


if __name__ == "__main__":
    sys.exit(main())
