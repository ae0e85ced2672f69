"""netanvil: a network device tester.

This package runs the program `netanvil`, which the wheel brings, and gives what it measured as typed values.

    >>> import netanvil
    >>> result = netanvil.run(sim="router", profile="quick", test=["throughput"], sizes=[64])
    >>> result.throughput(64) >= 90_000
    True

Run such tests in an isolated network only (RFC 6815).
"""

from __future__ import annotations

from collections.abc import Callable

from .devices import Device, devices
from .errors import (
    FigureInvalid,
    FigureUndecided,
    NetanvilError,
    NoSuchFigure,
    NotAccepted,
    ProgramFailed,
    ProgramNotFound,
    TesterFellShort,
)
from .events import (
    Bounds,
    ConsistencyChecked,
    Event,
    RunFinished,
    RunNote,
    RunStarted,
    RunWarning,
    SelfTestFinished,
    TestFinished,
    TestRepeated,
    TestStarted,
    TrialFinished,
    TrialStarted,
    UnknownEvent,
)
from .figure import Figure, Relation
from .program import Option, find_program
from .result import Outcome, Result, Table, Trial, load
from .running import Run, start
from .traffic import (
    Latency,
    LoadChanged,
    Paused,
    Second,
    Stream,
    Summary,
    Traffic,
    TrafficEvent,
    TrafficStarted,
    UnknownTrafficEvent,
    start_traffic,
    traffic,
)

__all__ = [
    "Bounds",
    "ConsistencyChecked",
    "Device",
    "Event",
    "Figure",
    "FigureInvalid",
    "FigureUndecided",
    "Latency",
    "LoadChanged",
    "NetanvilError",
    "NoSuchFigure",
    "NotAccepted",
    "Option",
    "Outcome",
    "Paused",
    "ProgramFailed",
    "ProgramNotFound",
    "Relation",
    "Result",
    "Run",
    "RunFinished",
    "RunNote",
    "RunStarted",
    "RunWarning",
    "Second",
    "SelfTestFinished",
    "Stream",
    "Summary",
    "Table",
    "TestFinished",
    "TestRepeated",
    "TestStarted",
    "TesterFellShort",
    "Traffic",
    "TrafficEvent",
    "TrafficStarted",
    "Trial",
    "TrialFinished",
    "TrialStarted",
    "UnknownEvent",
    "UnknownTrafficEvent",
    "devices",
    "find_program",
    "load",
    "run",
    "start",
    "start_traffic",
    "traffic",
]


def run(
    suite: str | None = None,
    *,
    progress: Callable[[Event], object] | None = None,
    check: bool = True,
    **options: Option,
) -> Result:
    """Tests a device and gives the results.

    `suite` and `options` are those of `netanvil run`: `frame_limit=50000` is `--frame-limit 50000`, `sizes=[64, 512]`
    is `--sizes 64,512`, `bidirectional=True` is `--bidirectional`, and `set={"latency.repetitions": 5}` is
    `--set latency.repetitions=5`. `progress` is called with each event.

    Raises `ProgramFailed` with the program's message where the program failed; with `check` also `NotAccepted` where a
    criterion of `accept` is not met, and `TesterFellShort` where a test has no valid result.
    """
    with start(suite, **options) as running:
        for event in running:
            if progress is not None:
                progress(event)
        return running.wait(check=check)
