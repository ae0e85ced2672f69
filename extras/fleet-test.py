#!/usr/bin/env python3
"""A campaign on three Ray nodes of which one is killed half-way, into a PostgreSQL that is restarted in mid-ingest.

Ends with 0 if every job is in the database exactly once. `make fleet-test` runs it.

Usage: NETANVIL_PROGRAM=target/debug/netanvil extras/fleet-test.py [REPETITIONS]
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from netanvil import campaign

ROOT = Path(__file__).resolve().parent.parent
REPETITIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 64
NOBODY = 65534
DESCRIPTION = f"""
name = "fleet-test"
tests = ["throughput"]
sizes = [512, 1518]
repetitions = {REPETITIONS}
retries = 1
timeout-s = 120
[options]
profile = "quick"
duration = "50ms"
skip-selftest = true
[[device]]
name = "router"
options = {{ sim = "router" }}
needs = {{ bed = 1 }}
[[device]]
name = "bridge"
options = {{ sim = "bridge" }}
needs = {{ port = 1 }}
[[configuration]]
name = "one way"
[[configuration]]
name = "both ways"
options = {{ bidirectional = true }}
"""


def postgres_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        sys.exit("no PostgreSQL; make setup installs it")
    return found[-1].parent


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder, postgres_programs()
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        self.call("initdb", "-D", "data", "-U", "lab", "-A", "trust", "--no-sync")
        self.start()

    def call(self, program: str, *words: str) -> None:
        user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        log = (self.folder / f"{program}.out").open("w")
        subprocess.run([self.programs / program, *words], cwd=self.folder, stdout=log, stderr=log, check=True, **user)

    def start(self) -> None:
        socket = f"-k {self.folder} -c listen_addresses="
        self.call("pg_ctl", "-D", "data", "-l", "server.log", "-o", socket, "-w", "start")

    def stop(self, how: str) -> None:
        self.call("pg_ctl", "-D", "data", "-m", how, "-w", "stop")

    @property
    def url(self) -> str:
        return f"postgres://lab@{str(self.folder).replace('/', '%2F')}/postgres"

    def ask(self, sql: str) -> list[str]:
        words = ["psql", "-h", str(self.folder), "-U", "lab", "-d", "postgres", "-Atc", sql]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as pg:
        description = Path(scratch, "work", "c.toml")
        description.parent.mkdir()
        description.write_text(DESCRIPTION)
        wanted = {job.id for job in campaign.jobs(description)}
        server = Server(Path(pg))
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "resources": {"bed": 1}})
        cluster.add_node(num_cpus=1, resources={"port": 2})
        doomed = cluster.add_node(num_cpus=1, resources={"bed": 1, "port": 1})
        cluster.wait_for_nodes()
        environment = {"working_dir": str(description.parent), "env_vars": {"PYTHONPATH": str(ROOT / "python/src")}}
        environment["env_vars"]["NETANVIL_PROGRAM"] = os.environ["NETANVIL_PROGRAM"]
        ray.init(address=cluster.address, runtime_env=environment, log_to_driver=False)
        ended = 0

        def progress(job: campaign.Job, why: "str | None") -> None:
            nonlocal ended
            ended += 1
            assert why is None, f"{job.id}: {why}"
            if ended % 64 == 0:
                print(f"{ended} of {len(wanted)}, {time.monotonic() - began:.0f} s", flush=True)
            if ended == len(wanted) // 2:
                print("one node of three is killed", flush=True)
                cluster.remove_node(doomed, allow_graceful=False)
            if ended == len(wanted) // 3:
                print("the server crashes, and comes back after 3 s while runs are ingested", flush=True)
                server.stop("immediate")
                threading.Timer(3, server.start).start()

        result = campaign.run(description, db=server.url, out=Path(scratch, "out"), progress=progress)
        kept = server.ask("SELECT job FROM netanvil_run ORDER BY job")
        print(f"{result.jobs} jobs, {result.done} done, {len(kept)} rows, {len(set(kept))} different jobs")
        ray.shutdown()
        cluster.shutdown()
        assert result.failed == {}, result.failed
        assert len(kept) == len(set(kept)) == len(wanted) and set(kept) == wanted
        server.stop("fast")
    print(f"every job is there once; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
