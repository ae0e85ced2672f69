"""A virtual machine with a kernel of the distribution: its devices, and the boot.

The guest's root is the host's, read-only, with a file system in memory over it: every program and every test is there
at once, at the same path. No KVM: QEMU translates each instruction (TCG).
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess

from first_root import first_root

HERE = pathlib.Path(__file__).resolve().parent
# Models of network cards, each a pair that a hub joins like a cable. The place in this list is in the MAC addresses.
MODELS = ["e1000e", "igb", "virtio-net-pci", "vmxnet3"]
# Behind the emulated IOMMU, as vfio-pci needs it; a virtio device goes around it unless told so.
OF_MODEL = {"virtio-net-pci": ",iommu_platform=on,disable-legacy=on"}


def mac(model, end):
    return f"52:54:00:4e:{model:02x}:{end:02x}"


def network_cards():
    """Each behind a root port of its own, so that each is a group of the IOMMU."""
    arguments = []
    for number, model in enumerate(MODELS):
        for end in (0, 1):
            name = f"n{number}{end}"
            slot = 1 + 2 * number + end
            arguments += ["-netdev", f"hubport,id={name},hubid={number}"]
            arguments += ["-device", f"pcie-root-port,id=root-{name},chassis={slot},slot={slot}"]
            card = f"{model},netdev={name},bus=root-{name},mac={mac(number, end)}{OF_MODEL.get(model, '')}"
            arguments += ["-device", card]
    return arguments


def command(qemu, image, initramfs, share, cmdline):
    folders = [qemu / part for part in ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu")]
    shared = "security_model=passthrough,multidevs=remap"
    return [
        str(qemu / "usr/bin/qemu-system-x86_64"),
        *(part for folder in folders for part in ("-L", str(folder))),
        *("-machine", "q35,kernel-irqchip=split", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-smp", "2", "-m", "4G", "-no-reboot"),
        *("-nodefaults", "-display", "none", "-serial", "stdio"),
        *("-device", "intel-iommu,aw-bits=48"),
        *("-kernel", str(image), "-initrd", str(initramfs), "-append", cmdline),
        *("-virtfs", f"local,path=/,mount_tag=host,readonly=on,{shared}"),
        *("-virtfs", f"local,path={share},mount_tag=share,{shared}"),
        *network_cards(),
    ]


def boot(qemu, kernel, version, image, folder, orders, limit_s):
    """Boots once, with `orders` for the guest; its results, and why there are no more."""
    share = folder / "share"
    shutil.rmtree(share, ignore_errors=True)
    share.mkdir(parents=True)
    (share / "orders.json").write_text(json.dumps({**orders, "modules": str(kernel / "lib/modules" / version)}))
    initramfs = folder / "initramfs.gz"
    first_root(kernel, version, initramfs)
    guest = HERE / "guest.py"
    cmdline = f"console=ttyS0 panic=-1 loglevel=4 intel_iommu=on iommu=pt mitigations=off guest={guest}"
    libraries = ":".join(str(qemu / part) for part in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"))
    why = None
    with open(folder / "console.log", "wb") as log:
        machine = subprocess.Popen(
            command(qemu, image, initramfs, share, cmdline),
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
        )
        try:
            if machine.wait(timeout=limit_s):
                why = f"QEMU ended with code {machine.returncode}; {folder}/console.log has its words"
        except subprocess.TimeoutExpired:
            machine.send_signal(signal.SIGKILL)
            machine.wait()
            why = f"the machine was stopped after {limit_s} s"
    results = share / "results.json"
    found = json.loads(results.read_text()) if results.exists() else {"features": {}}
    return found, why
