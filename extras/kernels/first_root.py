"""The root that a kernel has first: an archive in cpio's form newc (Linux, Documentation/driver-api/early-userspace)."""

import gzip
import lzma
import pathlib
import stat
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# What must be loaded before the host's root can be read.
FIRST_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]


def entry(number, name, mode, data=b"", device=(0, 0)):
    """One file: a header of 13 fields of 8 hexadecimal digits, the name and the data, each filled up to 4 bytes."""
    name = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0]
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + name
    return header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4)


def modules_of(kernel, version, names):
    """Files of modules, each after those that it needs."""
    files = []
    for name in names:
        command = ["modprobe", "-d", kernel, "-S", version, "--show-depends", name]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(f"kernel {version}: no module {name}: {ran.stderr.strip()}")
        found = [pathlib.Path(line.split()[1]) for line in ran.stdout.splitlines() if line.startswith("insmod")]
        files += [file for file in found if file not in files]
    return files


def first_root(kernel, version, image):
    """Writes an archive with busybox, those modules and `init`."""
    files = []
    for file in modules_of(kernel, version, FIRST_MODULES):
        data = file.read_bytes()
        files.append((file.name.removesuffix(".xz"), lzma.decompress(data) if file.suffix == ".xz" else data))
    order = "".join(f"{name}\n" for name, _ in files).encode()
    folders = ("bin", "modules", "proc", "sys", "dev", "host", "memory", "root")
    entries = [(name, stat.S_IFDIR | 0o755, b"", (0, 0)) for name in folders]
    entries.append(("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1)))
    entries.append(("bin/busybox", stat.S_IFREG | 0o755, pathlib.Path("/bin/busybox").read_bytes(), (0, 0)))
    entries.append(("init", stat.S_IFREG | 0o755, (HERE / "init").read_bytes(), (0, 0)))
    entries += [(f"modules/{name}", stat.S_IFREG | 0o644, data, (0, 0)) for name, data in [*files, ("order", order)]]
    archive = b"".join(entry(number, *parts) for number, parts in enumerate(entries, 1))
    image.write_bytes(gzip.compress(archive + entry(0, "TRAILER!!!", 0), 1))
