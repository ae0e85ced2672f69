"""Measured numbers that compare only as far as they are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, get_args

from .errors import FigureInvalid, FigureUndecided, NetanvilError

__all__ = ["Figure", "Relation"]

#: How the truth relates to a figure's numbers.
Relation = Literal["equal", "at_least", "between", "below", "unknown"]


@dataclass(frozen=True, eq=False, kw_only=True, slots=True, repr=False)
class Figure:
    """One measured number with what is known of it.

    It compares with numbers (`>=`, `>`, `<=`, `<`) as `netanvil run --accept` does:

    * `equal`: by `value`.
    * `between`, `below`, `at_least`: true or false only if that holds of everything from `low` to `high`; otherwise
      `FigureUndecided` is raised.
    * `unknown`: `FigureInvalid` is raised, with the reason.
    """

    name: str
    #: The name in acceptance criteria, such as `throughput` or `latency-p99`.
    known_as: str | None
    unit: str
    #: The number, where there is one (`relation` is `equal`).
    value: float | None
    relation: Relation
    #: The truth is no less; `None` where nothing says so.
    low: float | None
    #: The truth is no more; `None` where nothing says so.
    high: float | None
    #: Where `low` and `high` come from, such as `search_resolution`.
    basis: str
    #: Why the truth is not known better.
    reason: str
    test: str
    frame_size: str
    #: Everything in which outcomes of the same test and size may differ, in words.
    conditions: str

    @classmethod
    def from_json(cls, figure: Mapping[str, Any], *, test: str, frame_size: str, conditions: str) -> Figure:
        """A member of `outcomes[].figures` of results.json."""
        relation = figure["relation"]
        if relation not in get_args(Relation):
            raise NetanvilError(
                f"figure `{figure['name']}` has the relation `{relation}`, which this version of the "
                "Python module does not know"
            )
        value, low, high = figure["value"], figure["low"], figure["high"]
        if relation == "at_least":
            low = value if low is None else low
            high = None
        if relation == "below":
            high = value if high is None else high
        return cls(
            name=figure["name"],
            known_as=figure.get("known_as"),
            unit=figure["unit"],
            value=value if relation == "equal" else None,
            relation=relation if value is not None else "unknown",
            low=low,
            high=high,
            basis=figure["basis"],
            reason=figure.get("reason", ""),
            test=test,
            frame_size=frame_size,
            conditions=conditions,
        )

    @property
    def decided(self) -> bool:
        """Whether it is a number: `float(figure)` gives it."""
        return self.value is not None

    def claim(self) -> tuple[float, float]:
        """From where to where the truth may lie; twice the value if that is known."""
        if self.relation == "unknown":
            self._refuse_unknown()
        if self.value is not None:
            return (self.value, self.value)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return (low, high)

    def __float__(self) -> float:
        low, high = self.claim()
        if low != high:
            raise FigureUndecided(f"{self} is not one number{self._because()}", self)
        return low

    def __ge__(self, bound: float) -> bool:
        return self._decide(">=", bound, lambda value: value >= bound)

    def __gt__(self, bound: float) -> bool:
        return self._decide(">", bound, lambda value: value > bound)

    def __le__(self, bound: float) -> bool:
        return self._decide("<=", bound, lambda value: value <= bound)

    def __lt__(self, bound: float) -> bool:
        return self._decide("<", bound, lambda value: value < bound)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int | float):
            raise TypeError(
                f"a measured number equals no other by more than chance: write figure >= {other}, "
                f"or float(figure) == {other}"
            )
        return self is other

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeError("a figure is neither true nor false: compare it, as in figure >= 1e6")

    def __str__(self) -> str:
        where = f"{self.name} at {self.frame_size} bytes" if self.frame_size else self.name
        return f"{where}: {self.text}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def text(self) -> str:
        """The number with its unit, or the bounds."""
        unit = f" {self.unit}" if self.unit else ""
        if self.relation == "unknown":
            return "no result"
        if self.value is not None:
            return _number(self.value) + unit
        if self.relation == "at_least" and self.low is not None:
            return f"{_number(self.low)}{unit} or more"
        if self.relation == "below" and self.high is not None:
            return f"below {_number(self.high)}{unit}"
        low, high = self.claim()
        return f"{_number(low)} to {_number(high)}{unit}"

    def _decide(self, sign: str, bound: float, holds: Callable[[float], bool]) -> bool:
        if isinstance(bound, Figure) or not hasattr(bound, "__float__"):
            raise TypeError(f"compare a figure with a number, not with {bound!r}")
        if math.isnan(float(bound)):
            raise ValueError("a figure cannot be compared with NaN")
        low, high = self.claim()
        at_low, at_high = bool(holds(low)), bool(holds(high))
        if at_low != at_high:
            raise FigureUndecided(
                f"{self}: whether it is {sign} {_number(float(bound))} is not decided{self._because()}",
                self,
            )
        return at_low

    def _because(self) -> str:
        if self.reason:
            return f": {self.reason}"
        if self.relation == "at_least":
            return ": tester-limited; the device may be faster"
        return ""

    def _refuse_unknown(self) -> NoReturn:
        reason = self.reason or "no valid trial"
        raise FigureInvalid(f"{self}: {reason}", self)


def _number(value: float) -> str:
    if math.isinf(value):
        return "unlimited" if value > 0 else "unknown"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.6g}" if abs(value) < 1e4 else f"{value:,.1f}"
