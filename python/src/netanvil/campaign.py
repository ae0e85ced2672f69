"""Campaigns on a cluster of Ray, of the same description as `netanvil campaign run --local`.

    >>> from netanvil import campaign
    >>> campaign.run("nightly.toml", db="postgres://lab@db/results", out="/srv/nightly")  # doctest: +SKIP

Each job is a task. `cores` of its needs are Ray's CPUs; every other need is a custom resource, which the nodes that
have it name when they start: `ray start --resources='{"dut-x": 1, "xdp-port": 2}'`. A task whose node goes away is
done again on another one. This process alone writes: it keeps each run folder below `out` and ingests it, so a
campaign that was stopped goes on where it was. Nodes need this package and, for jobs on real ports, the rights for it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import NetanvilError, ProgramFailed
from .program import Child, call

__all__ = ["Campaign", "Job", "jobs", "run"]

EVENTS = "events.jsonl"
#: Exit codes of a run that is complete: done, not accepted, without a valid result.
_COMPLETE = frozenset({0, 1, 3})
#: An ingest that fails is tried again after so many seconds each; the program itself waits a minute for a server.
_INGEST_AGAIN_S = (1, 2, 5, 10, 20, 30)
#: A job may lose its node so often; one that takes every node down with it ends the campaign.
_NODES_LOST = 20
#: How often tasks are looked at.
_LOOK_S = 1.0


@dataclass(frozen=True)
class Job:
    """One test of one device in one configuration at one frame size, once."""

    id: str
    campaign: str
    device: str
    configuration: str
    test: str
    size: str
    repetition: int
    is_simulated: bool
    needs: dict[str, int]
    timeout_s: int
    retries: int
    config: str
    base: str

    @property
    def cores(self) -> int:
        """Processors that it takes."""
        return self.needs.get("cores", 1)

    @property
    def resources(self) -> dict[str, int]:
        """What else it takes."""
        return {name: count for name, count in self.needs.items() if name != "cores"}


@dataclass
class Campaign:
    """What a campaign came to."""

    jobs: int = 0
    done_before: int = 0
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def jobs(description: str | Path) -> list[Job]:
    """The jobs of a description, in its order."""
    told = json.loads(call(["campaign", "jobs", str(description), "--json"]))
    return [Job(**{name: job[name] for name in Job.__dataclass_fields__}) for job in told]


def run(
    description: str | Path,
    *,
    db: str,
    out: str | Path,
    address: str | None = None,
    progress: Callable[[Job, str | None], None] | None = None,
) -> Campaign:
    """Runs what is left of a campaign on a cluster, or on this host where there is none.

    `progress` is told of each job that ended: the job, and why it failed or `None`.
    """
    # An extra of this package, without types of its own.
    ray: Any = importlib.import_module("ray")
    wanted = jobs(description)
    folder = Path(out)
    (folder / "jobs").mkdir(parents=True, exist_ok=True)
    if not ray.is_initialized():
        # Files that the description names go to every node.
        ray.init(address=address, runtime_env={"working_dir": wanted[0].base}, log_to_driver=False)
    _check(wanted, ray.cluster_resources())
    campaign = Campaign(jobs=len(wanted))
    remote = ray.remote(_job)
    pending: dict[Any, Job] = {}
    for job in wanted:
        if (_run_of(folder, job) / EVENTS).exists():
            _ingest(folder, job, db)
            campaign.done_before += 1
            continue
        # A node that goes away takes no attempt of the job with it; those of the job are counted where it runs.
        options = remote.options(num_cpus=job.cores, resources=job.resources, max_retries=_NODES_LOST)
        pending[options.remote(job)] = job
    while pending:
        ready, _ = ray.wait(list(pending), num_returns=1, timeout=_LOOK_S)
        for reference in ready:
            job = pending.pop(reference)
            events, why = ray.get(reference)
            if events is None:
                campaign.failed[job.id] = why
            else:
                _keep(folder, job, zlib.decompress(events))
                _ingest(folder, job, db)
                campaign.done += 1
            if progress is not None:
                progress(job, why)
    return campaign


def _check(wanted: Sequence[Job], has: dict[str, float]) -> None:
    """Ray waits for ever for what no node has."""
    for job in wanted:
        if not job.is_simulated and not job.resources:
            raise NetanvilError(
                f"job {job.id} of {job.device} runs on real ports and names no test bed: two such jobs would disturb "
                "each other. Write needs = { NAME = 1 } and start the node that has it with that resource"
            )
        for name, count in {"CPU": job.cores, **job.resources}.items():
            if has.get(name, 0) < count:
                raise NetanvilError(f"job {job.id} needs {count} x {name}; the cluster has {has.get(name, 0):g}")


def _job(job: Job) -> tuple[bytes | None, str | None]:
    """On a node: the events of a complete run, or why there is none."""
    why = "no attempt"
    for _ in range(job.retries + 1):
        with tempfile.TemporaryDirectory(prefix="netanvil-job-") as scratch:
            config, folder = Path(scratch, "config.toml"), Path(scratch, "run")
            config.write_text(job.config)
            words = ["run", "--config", str(config), "--out", str(folder), "--stdin-control", "--yes", "--quiet"]
            # Its output is its tables, which nobody needs here.
            child = Child(words, reads_stdout=False, folder=Path.cwd())
            try:
                code: int | None = child.wait(job.timeout_s)
            except subprocess.TimeoutExpired:
                child.stop()
                code, why = None, f"it took longer than {job.timeout_s} s"
            if code in _COMPLETE:
                return zlib.compress((folder / EVENTS).read_bytes()), None
            if code is not None:
                said = [line for line in child.said.splitlines() if line.startswith("error: ")]
                why = said[-1].removeprefix("error: ") if said else f"it ended with exit code {code}"
    return None, why


def _run_of(folder: Path, job: Job) -> Path:
    return folder / "jobs" / job.id / "run"


def _keep(folder: Path, job: Job, events: bytes) -> None:
    """A run folder appears as a whole: a campaign that is killed here has it or does it again."""
    target = _run_of(folder, job)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=target.parent, prefix=".run-"))
    (new / EVENTS).write_bytes(events)
    if target.exists():
        shutil.rmtree(target)
    new.rename(target)


def _ingest(folder: Path, job: Job, db: str) -> None:
    words = ["history", "ingest", str(_run_of(folder, job)), "--db", db, "--campaign", job.campaign, "--job", job.id]
    words += ["--device", job.device, "--configuration", job.configuration, "--repetition", str(job.repetition)]
    for wait_s in (*_INGEST_AGAIN_S, None):
        try:
            call(words)
            return
        except ProgramFailed:
            if wait_s is None:
                raise
            time.sleep(wait_s)


def main() -> int:
    """`python -m netanvil.campaign`."""
    parser = argparse.ArgumentParser(prog="python -m netanvil.campaign", description="Run a campaign on Ray.")
    parser.add_argument("description", help="description of the campaign")
    parser.add_argument("--db", required=True, help="database: file of SQLite or URL of PostgreSQL")
    parser.add_argument("--out", required=True, help="folder of the campaign")
    parser.add_argument("--address", help="address of the cluster (default: start Ray on this host)")
    arguments = parser.parse_args()

    def progress(job: Job, why: str | None) -> None:
        ended = "done" if why is None else f"FAILED: {why}"
        print(f"{job.device}, {job.configuration}: {job.test}, {job.size} bytes, {job.repetition}: {ended}", flush=True)

    ended = run(arguments.description, db=arguments.db, out=arguments.out, address=arguments.address, progress=progress)
    print(f"{ended.jobs} jobs: {ended.done} done, {ended.done_before} done before, {len(ended.failed)} failed")
    return 2 if ended.failed else 0


if __name__ == "__main__":
    sys.exit(main())
