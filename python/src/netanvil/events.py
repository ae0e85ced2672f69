"""What a run says while it goes on, as typed events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .figure import Figure

__all__ = [
    "Bounds",
    "ConsistencyChecked",
    "Event",
    "RunFinished",
    "RunNote",
    "RunStarted",
    "RunWarning",
    "SelfTestFinished",
    "TestFinished",
    "TestRepeated",
    "TestStarted",
    "TrialFinished",
    "TrialStarted",
    "UnknownEvent",
]

PS_PER_S = 1e12


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted:
    """The first event."""

    program: str
    device: str
    environment: Mapping[str, str] = field(repr=False)
    #: How long the run will take; of a simulated device in virtual time.
    estimate_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TestStarted:
    """A test begins, for one frame size."""

    __test__ = False  # no class of tests, whatever pytest makes of its name

    test: str
    frame_size: str
    direction: str
    modifier: str
    #: Estimate of what is left of the whole run.
    remaining_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Between which values a search knows the truth to lie."""

    #: The highest that passed.
    lower: float | None
    #: The lowest that did not.
    upper: float | None
    unit: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialStarted:
    """A trial begins."""

    number: int
    test: str
    frame_size: str
    label: str
    #: More than 1 where an invalid trial is repeated.
    attempt: int
    #: Of each transmitting port.
    intended_fps: float
    duration_s: float
    bounds: Bounds | None
    remaining_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialFinished:
    """A trial ended. `Result.trials` has its counts when the run has ended."""

    number: int
    test: str
    frame_size: str
    attempt: int
    intended_fps: float
    duration_s: float
    #: `passed`, `failed`, `measured`, or `invalid`: then it decides nothing.
    verdict: str
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class TestFinished:
    """A test has come to its figures for one frame size."""

    __test__ = False  # no class of tests, whatever pytest makes of its name

    test: str
    frame_size: str
    figures: tuple[Figure, ...]
    #: Why the tester, not the device, kept the test from a result.
    invalid: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TestRepeated:
    """A test is made once more, because its result contradicts another."""

    __test__ = False  # no class of tests, whatever pytest makes of its name

    test: str
    frame_size: str
    because: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsistencyChecked:
    """All tests have ended, and their results were held against each other."""

    pairs_compared: int
    #: As in `consistency.contradictions` of results.json, without `words`.
    contradictions: tuple[Mapping[str, Any], ...]
    #: Results that are stated instead of the first ones, figure by figure.
    revised: tuple[Figure, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfTestFinished:
    """The tester has measured itself, or brought an earlier measurement."""

    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunWarning:
    """Something that should be mended or known before the results are trusted."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunNote:
    """Something worth knowing."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFinished:
    """The last event."""

    trials: int
    invalid_trials: int
    #: Tests without a valid result.
    invalid_tests: tuple[str, ...]
    #: What ended the run before its end; `None` for a whole run.
    stopped_by: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownEvent:
    """An event of a later version of the program."""

    kind: str
    raw: Any = field(repr=False)


Event: TypeAlias = (
    RunStarted
    | TestStarted
    | TrialStarted
    | TrialFinished
    | TestFinished
    | SelfTestFinished
    | TestRepeated
    | ConsistencyChecked
    | RunWarning
    | RunNote
    | RunFinished
    | UnknownEvent
)


def event(line: Mapping[str, Any]) -> Event:
    """A line of events.jsonl: an object with one member, the kind of the event."""
    ((kind, told),) = line.items()
    match kind:
        case "run_started":
            return RunStarted(
                program=told["program"],
                device=told["device"],
                environment=told["environment"],
                estimate_s=told["estimate"] / PS_PER_S,
            )
        case "test_started":
            return TestStarted(
                test=test_name(told["test"]),
                frame_size=told["frame_size"],
                direction=told["direction"],
                modifier=told["modifier"],
                remaining_s=told["remaining"] / PS_PER_S,
            )
        case "trial_started":
            return TrialStarted(
                number=told["number"],
                test=test_name(told["test"]),
                frame_size=told["frame_size"],
                label=told["label"],
                attempt=told["attempt"],
                intended_fps=_fps(told["intended"]),
                duration_s=told["duration"] / PS_PER_S,
                bounds=_bounds(told["bounds"]),
                remaining_s=told["remaining"] / PS_PER_S,
            )
        case "trial_finished":
            return TrialFinished(
                number=told["number"],
                test=test_name(told["test"]),
                frame_size=told["frame_size"],
                attempt=told["attempt"],
                intended_fps=_fps(told["intended"]),
                duration_s=told["duration"] / PS_PER_S,
                verdict=told["verdict"],
                raw=told["result"],
            )
        case "test_finished":
            return TestFinished(
                test=test_name(told["test"]),
                frame_size=told["conditions"]["frame_size"],
                figures=figures(told),
                invalid=tuple(told["invalid"]),
            )
        case "test_repeated":
            return TestRepeated(
                test=test_name(told["test"]),
                frame_size=told["frame_size"],
                because=told["because"],
            )
        case "consistency_checked":
            return ConsistencyChecked(
                pairs_compared=told["pairs_compared"],
                contradictions=tuple(told["contradictions"]),
                revised=tuple(figure for revised in told["revised"] for figure in figures(revised["outcome"])),
            )
        case "self_test_finished":
            return SelfTestFinished(raw=told)
        case "warning":
            return RunWarning(text=told)
        case "note":
            return RunNote(text=told)
        case "run_finished":
            return RunFinished(
                trials=told["trials"],
                invalid_trials=told["invalid_trials"],
                invalid_tests=tuple(told["invalid_tests"]),
                stopped_by=told["stopped_by"],
            )
        case _:
            return UnknownEvent(kind=kind, raw=told)


def figures(outcome: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Of an outcome, as events and results.json have it."""
    conditions = outcome["conditions"]
    return tuple(
        Figure.from_json(
            figure,
            test=test_name(outcome["test"]),
            frame_size=conditions["frame_size"],
            conditions=conditions["in_words"],
        )
        for figure in outcome["figures"]
    )


def test_name(told: str | Mapping[str, str]) -> str:
    """`throughput`; of a suite of many tests `congestion`, as `netanvil tests` has it."""
    if isinstance(told, str):
        return told
    ((_suite, name),) = told.items()
    return name


def _fps(rate: Mapping[str, int]) -> float:
    """Frames in so many seconds, as events have rates."""
    return rate["frames"] / rate["per_seconds"]


def _bounds(told: Mapping[str, Any] | None) -> Bounds | None:
    if told is None:
        return None
    return Bounds(lower=told["lower"], upper=told["upper"], unit=told["unit"])
