"""What the tests share: the wheel as it is installed, and devices whose truth is known by arithmetic."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netanvil

pytest_plugins = ["pytester"]

#: A search for the throughput, and nothing else.
SEARCH: dict[str, Any] = {"profile": "quick", "test": ["throughput"], "sizes": [64]}

#: The built-in device `router` spends 10 us on each frame.
ROUTER_FPS = 1 / 10e-6

#: A tester that cannot offer more than this to a device without a limit.
WEAK_FPS = 50_000


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Self-tests are kept for the tests alone."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def weak(tmp_path: Path) -> str:
    """A device behind a tester that is slower than the medium."""
    file = tmp_path / "weak.toml"
    file.write_text(f'route = ["ipv4"]\n[tester]\nframes-per-second = {WEAK_FPS}\n')
    return str(file)


@pytest.fixture
def unable(tmp_path: Path) -> str:
    """A device behind a tester that can offer no load at all: a frame a second in trials of less."""
    file = tmp_path / "unable.toml"
    file.write_text('route = ["ipv4"]\n[tester]\nframes-per-second = 1\n')
    return str(file)


@pytest.fixture(scope="session")
def router(tmp_path_factory: pytest.TempPathFactory) -> netanvil.Result:
    """One run for all tests that only read it."""
    out = tmp_path_factory.mktemp("router") / "run"
    return netanvil.run(sim="router", out=out, profile="quick", test=["throughput", "latency"], sizes=[64, 512])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that name no folder leave theirs in a folder of the test."""
    monkeypatch.chdir(tmp_path)


def wait_until(holds: Callable[[], bool], what: str, within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"waited {within_s} s for {what}"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether the process is there and has not ended: nobody may have asked how."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
