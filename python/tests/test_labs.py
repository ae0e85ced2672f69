"""The recipes of docs/labs.md, as far as a machine without a container engine can follow them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import netanvil

ROOT = Path(__file__).parents[2]
EXTRAS = ROOT / "extras"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and images are made as root")


def done(*command: str | Path, codes: tuple[int, ...] = (0,), **more: Any) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    output: str = ran.stdout
    assert ran.returncode in codes, f"{shlex.join(map(str, command))}\n{ran.stdout}{ran.stderr}"
    return output


class Image:
    """The image, unpacked."""

    def __init__(self, folder: Path) -> None:
        layout = folder / "layout"
        done(EXTRAS / "oci-layout.sh", netanvil.find_program(), layout)
        assert json.loads((layout / "oci-layout").read_text())["imageLayoutVersion"] == "1.0.0"
        done("umoci", "unpack", "--image", f"{layout}:latest", folder / "bundle")
        self.root = folder / "bundle" / "rootfs"
        self.config: dict[str, Any] = json.loads((folder / "bundle" / "config.json").read_text())

    def run(
        self, *arguments: str, within: tuple[str, ...] = ("unshare", "--net"), codes: tuple[int, ...] = (0,)
    ) -> str:
        """The program in the image's root, with what a container engine mounts, in a network of its own."""
        mounts = 'mount --bind /dev "$0/dev"; mount -t proc proc "$0/proc"; mount -t sysfs sysfs "$0/sys"'
        enter = ("unshare", "--mount", "sh", "-ec", f'{mounts}; exec chroot "$0" "$@"', str(self.root))
        environment = dict(each.split("=", 1) for each in self.config["process"]["env"])
        path = {"PATH": environment["PATH"] + ":/usr/sbin:/usr/bin:/sbin"}
        return done(*within, *enter, *arguments, codes=codes, env={**environment, **path})


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    for tool in ("umoci", "busybox", "strip"):
        assert shutil.which(tool), f"{tool} is missing: make setup installs it"
    return Image(tmp_path_factory.mktemp("image"))


@as_root
def test_the_image_runs_in_an_empty_root(image: Image) -> None:
    assert image.config["process"]["args"][:2] == ["netanvil", "serve"]
    image.run(*shlex.split("netanvil run --sim router --profile quick --test throughput --sizes 64 --out /runs/one"))
    assert netanvil.load(image.root / "runs" / "one").throughput(64) >= 90_000
    assert "sleep" in image.run("busybox", "--list")
    assert image.run("sh", "-c", "echo $HOME") == "/root\n"


class Lab:
    """The nodes of a topology as namespaces, and its links as veth pairs."""

    def __init__(self, topology: dict[str, Any]) -> None:
        self.nodes: dict[str, dict[str, Any]] = topology["nodes"]
        for name in self.nodes:
            done("ip", "netns", "add", self.namespace(name))
        for name, node in self.nodes.items():
            if node["kind"] == "bridge":
                self.in_node(name, f"ip link add {name} type bridge")
                self.in_node(name, f"ip link set {name} up")
        for link in topology["links"]:
            self.connect(link)
        for name, node in self.nodes.items():
            for command in node.get("exec", []):
                self.in_node(name, command)

    def connect(self, link: dict[str, Any]) -> None:
        (left, port), (right, other) = (endpoint.split(":") for endpoint in link["endpoints"])
        pair = ("ip", "link", "add", port, "netns", self.namespace(left), "mtu", str(link["mtu"]))
        done(*pair, "type", "veth", "peer", "name", other, "netns", self.namespace(right), "mtu", str(link["mtu"]))
        for node, interface in ((left, port), (right, other)):
            self.in_node(node, f"ip link set {interface} up")
            if self.nodes[node]["kind"] == "bridge":
                self.in_node(node, f"ip link set {interface} master {node}")

    def namespace(self, node: str) -> str:
        return f"netanvil-{os.getpid()}.9-{node}"

    def enter(self, node: str) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.namespace(node))

    def in_node(self, node: str, command: str) -> None:
        done(*self.enter(node), *shlex.split(command))

    def remove(self) -> None:
        for name in self.nodes:
            subprocess.run(["ip", "netns", "delete", self.namespace(name)], capture_output=True, check=False)


def topology() -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((EXTRAS / "labs" / "netanvil.clab.yml").read_text())
    assert told["name"] == "netanvil"
    found: dict[str, Any] = told["topology"]
    return found


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab.__new__(Lab)
    try:
        lab.__init__(topology())  # type: ignore[misc]
        yield lab
    finally:
        lab.remove()


def commands() -> list[list[str]]:
    """What docs/labs.md has the tester do."""
    prefix = "    docker exec clab-netanvil-tester "
    lines = (ROOT / "docs" / "labs.md").read_text().splitlines()
    return [shlex.split(line.removeprefix(prefix)) for line in lines if line.startswith(prefix)]


def sent(image: Image, lab: Lab, command: list[str]) -> dict[str, Any]:
    """What became of the frames; once more where this host held the tester up, which says nothing of the lab."""
    for _attempt in range(3):
        told = image.run(*command, "--json", within=lab.enter("tester"), codes=(0, 3))
        summary: dict[str, Any] = json.loads(told.splitlines()[-1])
        if summary["tester_kept_up"]:
            break
    return summary


@as_root
def test_frames_pass_the_router_and_the_bridge_of_the_topology(image: Image, lab: Lab) -> None:
    sending = [command for command in commands() if command[1] == "traffic"]
    assert len(sending) == 2
    for command in sending:
        summary = sent(image, lab, command)
        assert summary["tester_kept_up"], summary["tester_fell_short"]
        # 2 s at 1,000 frames a second.
        assert summary["sent_frames"] == summary["received_frames"] == 2_000, summary


@as_root
def test_the_tests_of_the_topology_are_ones_that_the_program_takes(image: Image) -> None:
    testing = [command for command in commands() if command[1] == "run"]
    assert len(testing) == 2
    for command in testing:
        assert 'profile = "quick"' in image.run(*command, "--print-config")


def ansible(program: str, *arguments: str, folder: Path) -> str:
    """A program of Ansible of this environment; the role's modules run by the same Python."""
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "HOME": str(folder), "NO_COLOR": "1"}
    return done(Path(scripts) / program, *arguments, cwd=EXTRAS / "ansible", env=environment)


def test_ansible_lint_finds_nothing(tmp_path: Path) -> None:
    ansible("ansible-lint", "--offline", "netanvil.yml", folder=tmp_path)


@as_root
def test_the_role_installs_the_wheel_and_then_changes_nothing(tmp_path: Path) -> None:
    wheels = list((ROOT / "target" / "python" / "wheels").glob("netanvil-*.whl"))
    assert len(wheels) == 1
    options = {
        "netanvil_wheel": str(wheels[0]),
        "netanvil_folder": str(tmp_path / "opt"),
        "netanvil_bin": str(tmp_path),
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    play = ("-i", "testers,", "-c", "local", "netanvil.yml", "-e", json.dumps(options))
    assert "failed=0" in ansible("ansible-playbook", *play, folder=tmp_path)
    assert done(tmp_path / "netanvil", "--version") == done(netanvil.find_program(), "--version")
    again = ansible("ansible-playbook", *play, folder=tmp_path)
    assert "changed=0" in again and "failed=0" in again
