"""Traffic by hand: a load, with loss and latency each second."""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeAlias

from .errors import NotAccepted, ProgramFailed, TesterFellShort
from .program import Child, Option, arguments

__all__ = [
    "Latency",
    "LoadChanged",
    "Paused",
    "Second",
    "Stream",
    "Summary",
    "Traffic",
    "TrafficEvent",
    "TrafficStarted",
    "UnknownTrafficEvent",
    "start_traffic",
    "traffic",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """The latency of frames that arrived; percentiles are too high by at most 0.79 %."""

    frames: int
    min_ns: float | None
    mean_ns: float | None
    p50_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    max_ns: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficStarted:
    """What will be sent."""

    device: str
    sending_ports: int
    rate_per_port_fps: float
    #: `None` for traffic without an end.
    duration_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Second:
    """About a second. The counts are those of that second."""

    until_s: float
    length_s: float
    sent_frames: int
    received_frames: int
    #: Less than 0 where frames that were counted as lost arrived after all.
    lost_frames: int
    reordered_frames: int
    duplicate_frames: int
    latency: Latency | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadChanged:
    """Another load."""

    rate_per_port_fps: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Paused:
    """Nothing is sent for a while."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """What became of one of several streams."""

    name: str
    sent_frames: int
    received_frames: int
    lost_frames: int
    reordered_frames: int
    latency: Latency | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What became of all frames, exactly. Of no meaning for the device unless `tester_kept_up`."""

    sent_frames: int
    received_frames: int
    lost_frames: int
    loss_ratio: float
    reordered_frames: int
    duplicate_frames: int
    corrupted_frames: int
    late_frames: int
    misdirected_frames: int
    sent_fps: float
    received_fps: float
    sending_s: float
    #: Sent load as a share of the intended load.
    load_share: float | None
    latency: Latency | None
    streams: tuple[Stream, ...]
    #: By the names of the device's counters.
    dropped_at: Mapping[str, int]
    tester_kept_up: bool
    #: Why the tester fell short; empty where it did not.
    tester_fell_short: tuple[str, ...]
    notes: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownTrafficEvent:
    """An event of a later version of the program."""

    kind: str
    raw: Mapping[str, Any] = field(repr=False)


TrafficEvent: TypeAlias = TrafficStarted | Second | LoadChanged | Paused | Summary | UnknownTrafficEvent


def traffic(*, check: bool = True, **options: Option) -> Summary:
    """Sends traffic and waits for its end. The options are those of `netanvil traffic`."""
    with start_traffic(**options) as sending:
        return sending.wait(check=check)


def start_traffic(**options: Option) -> Traffic:
    """Starts traffic; the result is an iterator of its events.

        with netanvil.start_traffic(sim="router", rate="50kpps", duration="forever") as sending:
            for event in sending:
                if isinstance(event, netanvil.Second) and event.lost_frames > 0:
                    break

    The traffic stops when the `with` block is left or nothing refers to it any more.
    """
    return Traffic(options)


class Traffic(Iterator[TrafficEvent]):
    """Traffic that is sent, or has ended."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        words = ["traffic", "--json", "--stdin-control", *arguments(options)]
        self._summary: Summary | None = None
        self._child = Child(words, reads_stdout=True)
        self._finalizer = weakref.finalize(self, _stop_quietly, self._child)

    @property
    def command(self) -> list[str]:
        """The command line."""
        return self._child.command

    @property
    def pid(self) -> int:
        """Of the program."""
        return self._child.pid

    def __next__(self) -> TrafficEvent:
        try:
            line = self._child.stdout.readline()
        except BaseException:  # Ctrl-C: a notebook would keep the traffic, which would go on
            self.close()
            raise
        if not line:
            self._check_failure()
            raise StopIteration
        told = event(json.loads(line))
        if isinstance(told, Summary):
            self._summary = told
        return told

    def press(self, keys: str) -> None:
        """Presses keys: `+` `-` `*` `/` change the load, `p` pauses, `1` to `9` switch streams, `q` ends."""
        self._child.press(keys)

    def wait(self, *, check: bool = True) -> Summary:
        """Waits for the end and gives the summary.

        Raises `ProgramFailed` where the program failed; with `check` also `NotAccepted` where a criterion of
        `fail_if` is met, and `TesterFellShort` where the tester did not keep up or a criterion is undecided.
        """
        try:
            for _event in self:
                pass
            code = self._child.wait()
        except BaseException:
            self.close()
            raise
        said = self._child.said.strip()
        assert self._summary is not None  # or the end of the events had raised
        if check and code == 1:
            raise NotAccepted(said or _criteria(self._summary, "failed"), self._summary)
        if check and code == 3:
            short = "; ".join(self._summary.tester_fell_short)
            why = f"the tester fell short: {short}" if short else _criteria(self._summary, "undecided")
            raise TesterFellShort(said or why, self._summary)
        return self._summary

    def _check_failure(self) -> None:
        """Once the program has ended: an exception where it failed."""
        code = self._child.wait()
        if code not in (0, 1, 3) or self._summary is None:
            said = self._child.said.strip() or f"the program ended with code {code} and without a summary"
            raise ProgramFailed(said, exit_code=code, command=self.command)

    def close(self) -> None:
        """Stops the traffic, as Ctrl-C does, and waits until everything that was built is removed."""
        self._child.stop()

    def __enter__(self) -> Traffic:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def event(told: Mapping[str, Any]) -> TrafficEvent:
    """A line of `netanvil traffic --json`."""
    match told["event"]:
        case "start":
            return TrafficStarted(
                device=told["device"],
                sending_ports=told["sending_ports"],
                rate_per_port_fps=told["rate_per_port_fps"],
                duration_s=told["duration_s"],
            )
        case "second":
            return Second(
                until_s=told["until_s"],
                length_s=told["length_s"],
                sent_frames=told["sent_frames"],
                received_frames=told["received_frames"],
                lost_frames=told["lost_frames"],
                reordered_frames=told["reordered_frames"],
                duplicate_frames=told["duplicate_frames"],
                latency=_latency(told["latency"]),
            )
        case "load":
            return LoadChanged(rate_per_port_fps=told["rate_per_port_fps"])
        case "paused":
            return Paused()
        case "summary":
            return _summary(told)
        case kind:
            return UnknownTrafficEvent(kind=kind, raw=told)


def _summary(told: Mapping[str, Any]) -> Summary:
    return Summary(
        sent_frames=told["sent_frames"],
        received_frames=told["received_frames"],
        lost_frames=told["lost_frames"],
        loss_ratio=told["loss_ratio"],
        reordered_frames=told["reordered_frames"],
        duplicate_frames=told["duplicate_frames"],
        corrupted_frames=told["corrupted_frames"],
        late_frames=told["late_frames"],
        misdirected_frames=told["misdirected_frames"],
        sent_fps=told["sent_fps"],
        received_fps=told["received_fps"],
        sending_s=told["sending_s"],
        load_share=told["load_share"],
        latency=_latency(told["latency"]),
        streams=tuple(_stream(each) for each in told["streams"]),
        dropped_at=told["dropped_at"],
        tester_kept_up=told["tester_kept_up"],
        tester_fell_short=tuple(told["tester_fell_short"]),
        notes=tuple(told["notes"]),
        raw=told,
    )


def _stream(told: Mapping[str, Any]) -> Stream:
    return Stream(
        name=told["name"],
        sent_frames=told["sent_frames"],
        received_frames=told["received_frames"],
        lost_frames=told["lost_frames"],
        reordered_frames=told["reordered_frames"],
        latency=_latency(told["latency"]),
    )


def _latency(told: Mapping[str, Any] | None) -> Latency | None:
    if told is None:
        return None
    return Latency(
        frames=told["frames"],
        min_ns=told["min_ns"],
        mean_ns=told["mean_ns"],
        p50_ns=told["p50_ns"],
        p99_ns=told["p99_ns"],
        p999_ns=told["p999_ns"],
        max_ns=told["max_ns"],
    )


def _criteria(summary: Summary, met: str) -> str:
    """The criteria that came out so."""
    of = [each["criterion"] for each in summary.raw["criteria"] if each["met"] == met]
    return f"{met}: {', '.join(of)}"


def _stop_quietly(child: Child) -> None:
    """When nobody holds the traffic any more, nobody can be told that it would not stop."""
    with contextlib.suppress(ProgramFailed):
        child.stop()
