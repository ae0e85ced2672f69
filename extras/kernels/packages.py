"""Debian packages, fetched and unpacked below a folder: nothing is installed on the host.

apt gets lists and caches of its own, with suites that the host's sources may not name. The host's keys check them.
"""

import pathlib
import re
import subprocess

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
SECURITY = "http://deb.debian.org/debian-security"
SUITES = {
    "bookworm": [(MIRROR, "bookworm"), (SECURITY, "bookworm-security"), (MIRROR, "bookworm-backports")],
    "trixie": [(MIRROR, "trixie"), (SECURITY, "trixie-security"), (MIRROR, "trixie-backports")],
}


class Packages:
    """One release of Debian with its backports."""

    def __init__(self, folder, release):
        self.folder = pathlib.Path(folder).absolute() / release
        for part in ("lists/partial", "cache/archives/partial", "debs"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        lines = [f"deb [signed-by={KEYS}] {mirror} {suite} main\n" for mirror, suite in SUITES[release]]
        (self.folder / "sources.list").write_text("".join(lines))
        self.options = [
            *("-o", f"Dir::Etc::sourcelist={self.folder}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null"),
            *("-o", f"Dir::State::lists={self.folder}/lists", "-o", f"Dir::Cache={self.folder}/cache"),
            # Not what a host's own settings may add: descriptions for shops, translations.
            *("-o", "Acquire::Languages=none", "-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"),
            *("-o", "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false"),
            # As root apt would download as another user, who may not write here.
            *("-o", "APT::Sandbox::User=root"),
        ]
        self.apt("apt-get", "update", "-qq")

    def apt(self, program, *arguments):
        ran = subprocess.run([program, *self.options, *arguments], capture_output=True, text=True, cwd=self.folder / "debs")
        if ran.returncode:
            raise SystemExit(f"{program} {' '.join(arguments)}: {ran.stderr.strip()}")
        return ran.stdout

    def newest(self, package, suite):
        """What a meta package of a suite depends on, and its version."""
        text = self.apt("apt-cache", "show", package)
        policy = self.apt("apt-cache", "madison", package)
        versions = [line.split("|")[1].strip() for line in policy.splitlines() if f" {suite}/" in line]
        if not versions:
            raise SystemExit(f"{package}: {suite} has none")
        for stanza in text.split("\n\n"):
            if f"\nVersion: {versions[0]}\n" in stanza:
                return re.search(r"^Depends: (?:.*, )?(linux-image-[0-9][^ ,]*)", stanza, re.M)[1], versions[0]
        raise SystemExit(f"{package}: apt-cache shows no version {versions[0]}")

    def kernel_parts(self, image):
        """The image with the packages into which newer releases divide it."""
        depends = self.apt("apt-cache", "depends", image)
        return [image, *re.findall(r"Depends: (linux-(?:base|binary|modules)-[0-9]\S*)", depends)]

    def missing_for(self, wanted):
        """What `wanted` (names, or name/suite) needs beside what the host has: names for `unpack`."""
        plan = self.apt("apt-get", "install", "--simulate", "--no-install-recommends", *wanted)
        named = {name.split("/")[0]: name for name in wanted}
        new = re.findall(r"^Inst (\S+) ", plan, re.M)
        return [named.get(name, name) for name in new]

    def unpack(self, names, root):
        """Downloads packages and unpacks them into a folder."""
        root.mkdir(parents=True, exist_ok=True)
        self.apt("apt-get", "download", "-qq", *names)
        for deb in (self.folder / "debs").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
            deb.unlink()
