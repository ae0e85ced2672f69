"""What a run came to."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .errors import NetanvilError, NoSuchFigure
from .events import figures as figures_of
from .events import test_name
from .figure import Figure

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Outcome", "Result", "Table", "Trial", "load"]

#: Version of results.json that this module reads.
SCHEMA_VERSION = 2

#: What a frame has a row for.
Table: TypeAlias = Literal["figures", "trials"]

#: Height of a report within a notebook.
REPORT_HEIGHT = "48em"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a test came to for one frame size."""

    test: str
    #: As it was asked for: `64`, or the name of a mix.
    frame_size: str
    mean_frame_size_bytes: float
    #: `None` for tests of many ports, which have a pattern.
    direction: str | None
    modifier: str | None
    traffic: str
    line_rate_bps: int
    #: Whether the medium enforces it; false for a virtual link.
    line_rate_is_physical: bool
    theoretical_max_fps: float
    #: Everything in which outcomes of the same test and size may differ, in words.
    conditions: str
    #: Where the test departs from its document.
    deviations: tuple[str, ...]
    figures: tuple[Figure, ...]
    #: Why the tester, not the device, kept the test from a result.
    invalid: tuple[str, ...]
    #: The member of results.json, with tables and the test's own record.
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Outcome:
        """A member of `outcomes` of results.json."""
        conditions = told["conditions"]
        theoretical = conditions["theoretical_max"]
        return cls(
            test=test_name(told["test"]),
            frame_size=conditions["frame_size"],
            mean_frame_size_bytes=conditions["mean_frame_size_bytes"],
            direction=conditions["direction"],
            modifier=conditions["modifier"],
            traffic=conditions["traffic"],
            line_rate_bps=conditions["line_rate"],
            line_rate_is_physical=conditions["line_rate_is_physical"],
            theoretical_max_fps=theoretical["frames"] / theoretical["per_seconds"],
            conditions=conditions["in_words"],
            deviations=tuple(conditions["deviations"]),
            figures=figures_of(told),
            invalid=tuple(told["invalid"]),
            raw=told,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A trial that was run. Counts are over all ports."""

    number: int
    test: str
    frame_size: str
    label: str
    attempt: int
    #: `passed`, `failed`, `measured`, or `invalid`: then it decides nothing.
    verdict: str
    duration_s: float
    intended_fps: float
    offered_fps: float
    offered_frames: int
    expected_frames: int
    forwarded_frames: int
    lost_frames: int
    #: `None` where no frame was expected.
    loss_percent: float | None
    #: Why the tester fell short; empty where it did not.
    tester_faults: str
    #: The member of results.json, with all counts.
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Trial:
        """A member of `trials` of results.json."""
        return cls(
            number=told["number"],
            test=test_name(told["test"]),
            frame_size=told["frame_size"],
            label=told["label"],
            attempt=told["attempt"],
            verdict=told["verdict"],
            duration_s=told["duration_ps"] / 1e12,
            intended_fps=told["intended_fps"],
            offered_fps=told["offered_fps"],
            offered_frames=told["offered_frames"],
            expected_frames=told["expected_frames"],
            forwarded_frames=told["forwarded_frames"],
            lost_frames=told["lost_frames"],
            loss_percent=told["loss_percent"],
            tester_faults=told["tester_faults"],
            raw=told,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a run came to: its folder, read."""

    folder: Path
    program: str
    device: str
    #: `complete`, `stopped` or `cut_off`.
    status: str
    stopped_by: str | None
    #: Whether the run meets every MUST that is checked, and departs from no SHOULD about the results.
    conformant: bool
    deviations: tuple[str, ...]
    #: Tests without a valid result.
    invalid_tests: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    outcomes: tuple[Outcome, ...] = field(repr=False)
    trials: tuple[Trial, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    #: Of the program; 0 where the result was loaded from a folder.
    exit_code: int = 0
    #: The tables as the program prints them; empty where the result was loaded from a folder.
    text: str = field(default="", repr=False)
    #: What the program said beside the tables.
    messages: str = ""
    #: All of results.json.
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, folder: Path, *, exit_code: int = 0, text: str = "", messages: str = "") -> Result:
        """Reads a run folder."""
        path = folder / "results.json"
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise NetanvilError(
                f"{folder} has no results.json: it is no run folder, or its run has not ended"
            ) from None
        version = told.get("schema_version")
        if version != SCHEMA_VERSION:
            raise NetanvilError(
                f"{path} has version {version} of its schema; this module reads version {SCHEMA_VERSION}"
            )
        return cls(
            folder=folder,
            program=told["program"] or "",
            device=told["device"] or "",
            status=told["status"],
            stopped_by=told["stopped_by"],
            conformant=told["conformant"],
            deviations=tuple(each["deviation"] for each in told["deviations"]),
            invalid_tests=tuple(told["invalid_tests"]),
            warnings=tuple(told["warnings"]),
            notes=tuple(told["notes"]),
            outcomes=tuple(Outcome.from_json(each) for each in told["outcomes"]),
            trials=tuple(Trial.from_json(each) for each in told["trials"]),
            environment=told["environment"] or {},
            exit_code=exit_code,
            text=text,
            messages=messages,
            raw=told,
        )

    def figures(
        self,
        name: str | None = None,
        frame_size: int | str | None = None,
        *,
        test: str | None = None,
        conditions: str | None = None,
    ) -> list[Figure]:
        """Its figures: all of them, or those of a name (`throughput`, `latency-p99`, or as tables print it)."""
        every = (figure for outcome in self.outcomes for figure in outcome.figures)
        return [
            figure
            for figure in every
            if (name is None or name in (figure.known_as, figure.name))
            and (frame_size is None or str(frame_size) == figure.frame_size)
            and (test is None or test == figure.test)
            and (conditions is None or conditions == figure.conditions)
        ]

    def figure(
        self,
        name: str,
        frame_size: int | str | None = None,
        *,
        test: str | None = None,
        conditions: str | None = None,
    ) -> Figure:
        """The one figure of that name; `NoSuchFigure` if there is none, or more than one."""
        found = self.figures(name, frame_size, test=test, conditions=conditions)
        if len(found) == 1:
            return found[0]
        asked = f"`{name}`" + ("" if frame_size is None else f" at {frame_size} bytes")
        if not found:
            raise NoSuchFigure(self._missing(asked, frame_size))
        which = "; ".join(_place(figure) for figure in found)
        raise NoSuchFigure(
            f"{len(found)} figures are {asked}: {which}. Give frame_size, test, conditions or the name "
            "that tables print"
        )

    def _missing(self, asked: str, frame_size: int | str | None) -> str:
        reasons = [f"invalid: {test}" for test in self.invalid_tests]
        for outcome in self.outcomes:
            if frame_size is None or str(frame_size) == outcome.frame_size:
                unknown = [figure.reason for figure in outcome.figures if figure.relation == "unknown"]
                why = dict.fromkeys([*outcome.invalid, *unknown])
                reasons += [f"{outcome.test} at {outcome.frame_size} bytes: {each}" for each in why]
        names = sorted({figure.known_as or figure.name for figure in self.figures()})
        sizes = dict.fromkeys(figure.frame_size for figure in self.figures())
        has = f"the run has {', '.join(names) or 'none'}, with frames of {', '.join(sizes) or 'no size'}"
        return "; ".join([f"no figure is {asked}; {has}", *reasons])

    def throughput(self, frame_size: int | str | None = None, **which: str) -> Figure:
        """The highest load without loss, in frames a second."""
        return self.figure("throughput", frame_size, **which)

    def latency(self, frame_size: int | str | None = None, **which: str) -> Figure:
        """The mean latency, in nanoseconds."""
        return self.figure("latency", frame_size, **which)

    def back_to_back(self, frame_size: int | str | None = None, **which: str) -> Figure:
        """The longest burst without loss, in frames."""
        return self.figure("back-to-back", frame_size, **which)

    def rows(self, table: Table = "figures") -> list[dict[str, object]]:
        """A row for each figure, or each trial, of plain values.

        `value` is empty unless the figure is a number (`relation` is `equal`): no mean is taken of bounds.
        """
        if table == "figures":
            return [_row(outcome, figure) for outcome in self.outcomes for figure in outcome.figures]
        if table == "trials":
            return [{**trial.raw, "test": trial.test} for trial in self.trials]
        raise ValueError(f"a table is `figures` or `trials`, not {table!r}")

    def to_pandas(self, table: Table = "figures") -> pandas.DataFrame:
        """The same as a pandas frame (needs pandas)."""
        import pandas

        rows = self.rows(table)
        frame = pandas.DataFrame(rows)
        numbers = [name for name in NUMBERS if name in frame]
        return frame.astype(dict.fromkeys(numbers, "float64"))

    def to_polars(self, table: Table = "figures") -> polars.DataFrame:
        """The same as a polars frame (needs polars)."""
        import polars

        rows = self.rows(table)
        names = [name for name in NUMBERS if rows and name in rows[0]]
        return polars.DataFrame(rows, schema_overrides=dict.fromkeys(names, polars.Float64), infer_schema_length=None)

    def to_influx(self, measurement: str = "netanvil") -> list[str]:
        """The figures in InfluxDB's line protocol, a line each, at the time of the run (needs influxdb-client).

        Fields are `value`, `low` and `high` as far as they are known; of a figure of which nothing is known `reason`.
        """
        from influxdb_client.client.write.point import Point

        at = datetime.fromisoformat(self.environment["date"].replace("Z", "+00:00"))
        lines = []
        for row in self.rows():
            point = Point(measurement).tag("device", self.device).time(at, "s")
            for name in TAGS:
                point.tag(name, row[name])
            numbers = {name: row[name] for name in NUMBERS if row[name] is not None}
            for name, field_value in (numbers or {"reason": row["reason"] or "not known"}).items():
                point.field(name, field_value)
            lines.append(point.to_line_protocol())
        return lines

    def __str__(self) -> str:
        return self.text or "\n".join(str(figure) for figure in self.figures())

    @property
    def report(self) -> Path:
        """The report, a page."""
        return self.folder / "report.html"

    def _repr_html_(self) -> str:
        """The report, as a notebook shows it: within a frame, so that neither page restyles the other."""
        page = html.escape(self.report.read_text(encoding="utf-8"), quote=True)
        title = html.escape(self.device, quote=True)
        return (
            f'<iframe title="netanvil: {title}" srcdoc="{page}" sandbox="allow-scripts" '
            f'style="width:100%;height:{REPORT_HEIGHT};border:1px solid #ccc"></iframe>'
        )


#: Columns of figures that are numbers even where none is known.
NUMBERS = ("value", "low", "high")

#: Columns of figures by which a time series database tells them apart.
TAGS = ("test", "frame_size", "direction", "modifier", "conditions", "name", "unit", "relation")


def load(folder: Path | str) -> Result:
    """Reads the folder of a run that has ended."""
    return Result.load(Path(folder))


def _row(outcome: Outcome, figure: Figure) -> dict[str, object]:
    return {
        "test": figure.test,
        "frame_size": figure.frame_size,
        "direction": outcome.direction,
        "modifier": outcome.modifier,
        "name": figure.name,
        "known_as": figure.known_as,
        "unit": figure.unit,
        "value": figure.value,
        "relation": figure.relation,
        "low": figure.low,
        "high": figure.high,
        "basis": figure.basis,
        "reason": figure.reason,
        "conditions": figure.conditions,
    }


def _place(figure: Figure) -> str:
    return f"{figure.test}, {figure.name}, {figure.frame_size} bytes ({figure.conditions})"
