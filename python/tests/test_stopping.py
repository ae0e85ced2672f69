"""Whatever ends a loop or a process, the program stops and removes what it built."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import netanvil
from netanvil import ProgramFailed
from netanvil.program import Child

from .conftest import is_running, wait_until

#: A run that would last for minutes.
LONG: dict[str, Any] = {"sim": "router", "duration": "10s", "line_rate": "100M"}


def test_a_loop_that_is_left_early_stops_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    pid = 0
    run = netanvil.start(out=out, **LONG)
    for event in run:
        if isinstance(event, netanvil.TrialStarted):
            pid = run.pid
            break
    assert is_running(pid)
    del run, event
    wait_until(lambda: not is_running(pid), "the end of the run")
    assert netanvil.load(out).status == "stopped"


def test_a_block_that_is_left_by_an_exception_stops_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyError), netanvil.start(out=out, **LONG) as run:
        next(run)
        raise KeyError
    assert not is_running(run.pid)
    assert netanvil.load(out).stopped_by is not None


def test_traffic_that_is_left_early_stops() -> None:
    with netanvil.start_traffic(sim="router", rate="1kpps", duration="forever") as sending:
        next(sending)
    assert not is_running(sending.pid)


def script(tmp_path: Path, text: str) -> tuple[subprocess.Popen[str], int]:
    """A process that runs the text, which prints the program's number once it runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", text], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


RUN = f"""
import netanvil
run = netanvil.start(out="run", **{LONG!r})
for event in run:
    if isinstance(event, netanvil.TrialStarted):
        print(run.pid, flush=True)
"""


def test_ctrl_c_stops_the_run_in_order(tmp_path: Path) -> None:
    process, pid = script(tmp_path, RUN)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said and process.returncode != 0
    assert not is_running(pid)
    assert netanvil.load(tmp_path / "run").status == "stopped"


def test_a_run_ends_with_the_process_that_started_it_even_by_force(tmp_path: Path) -> None:
    process, pid = script(tmp_path, RUN)
    process.kill()
    process.wait()
    wait_until(lambda: not is_running(pid), "the end of the run")
    wait_until(lambda: (tmp_path / "run" / "results.json").exists(), "its results")
    assert netanvil.load(tmp_path / "run").status == "stopped"


def test_a_program_that_does_not_stop_is_ended_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stubborn = tmp_path / "stubborn"
    stubborn.write_text(f"#!{sys.executable}\nimport sys, time\nif sys.argv[1:] != ['clean']: time.sleep(600)\n")
    stubborn.chmod(0o755)
    monkeypatch.setenv("NETANVIL_PROGRAM", str(stubborn))
    child = Child(["run"], reads_stdout=False)
    with pytest.raises(ProgramFailed, match=r"did not stop within 0\.2 s"):
        child.stop(within_s=0.2)
    assert not is_running(child.pid)


def namespaces_of(pid: int) -> list[str]:
    folder = Path("/run/netns")
    return [each.name for each in folder.glob(f"netanvil-{pid}.*")] if folder.exists() else []


@pytest.mark.skipif(os.geteuid() != 0, reason="devices are built as root")
def test_a_device_that_was_built_is_removed() -> None:
    options: dict[str, netanvil.Option] = {"device": "linux-router", "rate": "100pps", "duration": "forever"}
    with netanvil.start_traffic(port_type="af_packet", **options) as sending:
        assert isinstance(next(sending), netanvil.TrafficStarted)
        assert namespaces_of(sending.pid)
    assert not is_running(sending.pid) and not namespaces_of(sending.pid)


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETANVIL_PROGRAM", "/nowhere/netanvil")
    with pytest.raises(netanvil.ProgramNotFound, match="/nowhere/netanvil"):
        netanvil.devices()
