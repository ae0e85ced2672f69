"""Campaigns as the module reads them. `make fleet-test` runs one on a cluster."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import netanvil
from netanvil import campaign

DESCRIPTION = """
name = "small"
tests = ["throughput"]
sizes = [64, 1518]
retries = 0
[options]
profile = "quick"
duration = "50ms"
skip-selftest = true
[[device]]
name = "router"
options = { sim = "router" }
needs = { bed = 1, cores = 2 }
"""


@pytest.fixture
def described(tmp_path: Path) -> list[campaign.Job]:
    file = tmp_path / "c.toml"
    file.write_text(DESCRIPTION)
    return campaign.jobs(file)


def test_jobs_are_those_of_the_description(described: list[campaign.Job]) -> None:
    assert [(job.device, job.size, job.repetition) for job in described] == [("router", "64", 1), ("router", "1518", 1)]
    assert (described[0].cores, described[0].resources) == (2, {"bed": 1})
    assert described[0].is_simulated and described[0].id != described[1].id


def test_what_no_node_has_is_refused_and_not_waited_for(described: list[campaign.Job]) -> None:
    campaign._check(described, {"CPU": 2, "bed": 1})
    with pytest.raises(netanvil.NetanvilError, match="needs 1 x bed; the cluster has 0"):
        campaign._check(described, {"CPU": 4})
    with pytest.raises(netanvil.NetanvilError, match="needs 2 x CPU"):
        campaign._check(described, {"CPU": 1, "bed": 1})
    live = replace(described[0], is_simulated=False, needs={"cores": 1})
    with pytest.raises(netanvil.NetanvilError, match="names no test bed"):
        campaign._check([live], {"CPU": 4})


def test_a_job_gives_its_events_which_are_kept_and_ingested_once(described: list[campaign.Job], tmp_path: Path) -> None:
    import zlib

    job, db = described[0], tmp_path / "results.sqlite"
    events, why = campaign._job(job)
    assert events is not None and why is None
    campaign._keep(tmp_path, job, zlib.decompress(events))
    campaign._ingest(tmp_path, job, str(db))
    campaign._ingest(tmp_path, job, str(db))
    rows = sqlite3.connect(db).execute("SELECT job, device, configuration FROM netanvil_run").fetchall()
    assert rows == [(job.id, "router", "plain")]


def test_a_job_that_fails_or_takes_too_long_says_why(described: list[campaign.Job]) -> None:
    wrong = replace(described[0], config=described[0].config.replace('"router"', '"ruoter"'))
    events, why = campaign._job(wrong)
    assert events is None and why is not None and "no simulated device or file `ruoter`" in why
    slow = replace(described[0], config=described[0].config.replace("50ms", "1800s"), timeout_s=1)
    assert campaign._job(slow) == (None, "it took longer than 1 s")
