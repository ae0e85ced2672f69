"""What a figure compares as, for each relation that the program knows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from netanvil import Figure, FigureInvalid, FigureUndecided, NetanvilError


def figure(relation: str, value: float | None, low: float | None = None, high: float | None = None) -> Figure:
    told: dict[str, Any] = {
        "name": "throughput",
        "known_as": "throughput",
        "unit": "fps",
        "value": value,
        "relation": relation,
        "low": low,
        "high": high,
        "basis": "search_resolution",
        "reason": "for a reason",
    }
    return Figure.from_json(told, test="throughput", frame_size="64", conditions="one way")


def test_a_number_compares_by_its_value_whatever_its_bounds() -> None:
    known = figure("equal", 99.0, 99.0, 101.0)
    assert known >= 99 and not known >= 99.5
    assert known > 98 and not known > 99
    assert known <= 99 and not known <= 98.5
    assert known < 100 and not known < 99
    assert known.decided and float(known) == 99.0
    assert known > 98 and known <= 100


def test_an_interval_compares_only_where_all_of_it_agrees() -> None:
    between = figure("between", 478.0, 478.0, 675.0)
    assert between >= 478 and not between >= 676
    assert between <= 675 and not between <= 477
    assert between > 477 and not between > 675
    assert between < 676 and not between < 478
    for undecided in (
        lambda: between >= 500,
        lambda: between <= 600,
        lambda: between > 478,
        lambda: between < 675,
        lambda: float(between),
    ):
        with pytest.raises(FigureUndecided, match="for a reason") as raised:
            undecided()
        assert raised.value.figure is between
    assert between.value is None and not between.decided


def test_a_lower_bound_says_nothing_of_more() -> None:
    at_least = figure("at_least", 50.0)
    assert at_least >= 50 and not at_least < 50
    assert (at_least.low, at_least.high) == (50.0, None)
    with pytest.raises(FigureUndecided):
        assert at_least >= 51
    with pytest.raises(FigureUndecided):
        assert at_least <= 1e12


def test_an_upper_bound_says_nothing_of_less() -> None:
    below = figure("below", 30.0, 0.0, 30.0)
    assert below <= 30 and not below > 30 and below >= 0
    with pytest.raises(FigureUndecided):
        assert below >= 10
    assert figure("below", 30.0).claim() == (-math.inf, 30.0)


@pytest.mark.parametrize("relation", ["unknown", "equal"])
def test_what_was_not_measured_has_no_order(relation: str) -> None:
    unknown = figure(relation, None)
    for asked in (lambda: unknown >= 0, lambda: unknown <= 1e12, lambda: float(unknown)):
        with pytest.raises(FigureInvalid, match="no result: for a reason"):
            asked()


def test_what_would_pass_by_accident_is_refused() -> None:
    known = figure("equal", 99.0)
    with pytest.raises(TypeError, match="figure >= 99"):
        assert known == 99.0
    with pytest.raises(TypeError, match="neither true nor false"):
        assert known
    with pytest.raises(TypeError, match="with a number"):
        assert known >= figure("equal", 98.0)  # type: ignore[operator]
    with pytest.raises(TypeError, match="with a number"):
        assert known >= "98"  # type: ignore[operator]
    with pytest.raises(ValueError, match="NaN"):
        assert known >= math.nan
    assert known in [known] and known != figure("equal", 99.0) and len({known, known}) == 1


def test_a_relation_of_a_later_program_is_no_number() -> None:
    with pytest.raises(NetanvilError, match="`about`"):
        figure("about", 99.0)


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (figure("equal", 1_488_095.238), "throughput at 64 bytes: 1,488,095.2 fps"),
        (figure("between", 478.0, 478.0, 675.0), "throughput at 64 bytes: 478 to 675 fps"),
        (figure("at_least", 50.0), "throughput at 64 bytes: 50 fps or more"),
        (figure("below", 30.0, 0.0), "throughput at 64 bytes: below 30 fps"),
        (figure("unknown", None), "throughput at 64 bytes: no result"),
    ],
)
def test_a_figure_reads_as_what_is_known(of: Figure, text: str) -> None:
    assert str(of) == text
