"""Figures of many runs from the database of `netanvil history` and `netanvil campaign`.

    >>> from netanvil import history
    >>> history.to_polars("results.sqlite", test="throughput")  # doctest: +SKIP
    >>> history.to_parquet("postgres://lab@db/results", "figures.parquet")  # doctest: +SKIP

From a shell: `python -m netanvil.history results.sqlite figures.parquet`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import NetanvilError
from .program import call

if TYPE_CHECKING:
    import polars

__all__ = ["rows", "to_parquet", "to_polars"]

#: Numbers that may be absent.
_NUMBERS = ("value", "low", "high")


def rows(db: str | os.PathLike[str], **only: str) -> list[dict[str, Any]]:
    """A row for each figure of each run, the earlier ones first within a series.

    `only` selects by campaign, device, configuration, test, size or figure.
    """
    words = ["history", "show", "--db", os.fspath(db), "--json"]
    words += [word for name, value in only.items() for word in (f"--{name}", value)]
    found = []
    for trend in json.loads(call(words)):
        series = {("series" if name == "id" else name): value for name, value in trend["series"].items()}
        found += [{**series, **point} for point in trend["points"]]
    return found


def to_polars(db: str | os.PathLike[str], **only: str) -> polars.DataFrame:
    """The same as a polars frame (needs polars)."""
    import polars

    types = dict.fromkeys(_NUMBERS, polars.Float64)
    return polars.DataFrame(rows(db, **only), schema_overrides=types, infer_schema_length=None)


def to_parquet(db: str | os.PathLike[str], file: str | os.PathLike[str], **only: str) -> int:
    """Writes the same to a Parquet file, whole or not at all (needs polars); how many rows."""
    frame, path = to_polars(db, **only), Path(file)
    part = path.with_name(path.name + ".part")
    frame.write_parquet(part)
    part.replace(path)
    return frame.height


def main(words: Sequence[str] | None = None) -> int:
    """The command line; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m netanvil.history", description="Write figures to a Parquet file.")
    parser.add_argument("db", help="database: file of SQLite or URL of PostgreSQL")
    parser.add_argument("file", type=Path, help="Parquet file")
    for name in ("campaign", "device", "configuration", "test", "size", "figure"):
        parser.add_argument(f"--{name}", help=f"only of this {name}")
    given = vars(parser.parse_args(words))
    db, file = given.pop("db"), given.pop("file")
    try:
        count = to_parquet(db, file, **{name: value for name, value in given.items() if value is not None})
    except (NetanvilError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{file}: {count} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
