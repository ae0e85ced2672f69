"""Figures of a database as rows, frames and Parquet."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

import netanvil
from netanvil import history
from netanvil.program import call


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    runs = [str(folder / f"run{seed}") for seed in (1, 2)]
    for seed, run in enumerate(runs, 1):
        words = ["run", "--sim", "router", "--profile", "quick", "--duration", "50ms", "--skip-selftest", "--quiet"]
        call([*words, "--test", "throughput", "--sizes", "64,1518", "--seed", str(seed), "--out", run])
    call(["history", "ingest", *runs, "--db", str(folder / "results.sqlite")])
    return folder / "results.sqlite"


def test_a_parquet_file_has_every_figure_of_every_run(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.parquet"
    assert history.main([str(db), str(file)]) == 0
    frame = polars.read_parquet(file)
    assert frame.height == len(history.rows(db)) > 0
    at_64 = frame.filter((polars.col("figure") == "throughput") & (polars.col("frame_size") == "64"))
    # The router of docs/devices.md carries 100,000 frames/s.
    assert at_64.height == 2
    assert at_64["value"].to_list() == pytest.approx([100_000, 100_000], rel=0.02)
    assert at_64["run"].n_unique() == 2
    assert list(tmp_path.iterdir()) == [file]


def test_rows_may_be_selected(db: Path) -> None:
    assert {row["frame_size"] for row in history.rows(db, size="1518")} == {"1518"}


def test_what_is_not_there_is_an_error(db: Path, tmp_path: Path) -> None:
    with pytest.raises(netanvil.NetanvilError, match="no such figures"):
        history.rows(db, test="latency")
    assert history.main([str(tmp_path / "none.sqlite"), str(tmp_path / "x.parquet")]) == 2
    assert history.main([str(db), str(tmp_path / "no" / "x.parquet")]) == 2
