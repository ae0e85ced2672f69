"""The pytest plugin, as pytest itself finds it in the installed wheel."""

from __future__ import annotations

import re

import pytest

HEAD = """
import pytest
OPTIONS = dict(profile="quick", test=["throughput"], sizes=[64])
"""


def outcomes(pytester: pytest.Pytester, text: str, *arguments: str) -> tuple[dict[str, int], str]:
    pytester.makepyfile(HEAD + text)
    ran = pytester.runpytest_subprocess("--strict-markers", *arguments)
    return ran.parseoutcomes(), ran.stdout.str()


def test_it_passes_and_fails_by_what_was_measured(pytester: pytest.Pytester) -> None:
    counts, said = outcomes(
        pytester,
        """
def test_fast_enough(netanvil):
    assert netanvil.run(sim="router", **OPTIONS).throughput(64) >= 90_000

def test_too_slow(netanvil):
    assert netanvil.run(sim="router", **OPTIONS).throughput(64) >= 1.0e6
""",
    )
    assert counts == {"passed": 1, "failed": 1}
    assert "FAILED test_it_passes_and_fails_by_what_was_measured.py::test_too_slow" in said
    assert "<throughput at 64 bytes: 99," in said and ">= 1000000.0" in said
    assert "netanvil reports" in said and "report.html" in said


def test_what_is_not_decided_fails_with_the_reason(pytester: pytest.Pytester, weak: str, unable: str) -> None:
    counts, said = outcomes(
        pytester,
        f"""
def test_more_than_the_tester_offers(netanvil):
    assert netanvil.run(sim={weak!r}, **OPTIONS).throughput(64) >= 1.0e6

def test_not_less_either(netanvil):
    assert not netanvil.run(sim={weak!r}, **OPTIONS).throughput(64) >= 1.0e6

def test_no_valid_trial(netanvil):
    assert netanvil.run(sim={unable!r}, check=False, **OPTIONS).throughput(64) >= 0

def test_no_valid_trial_is_checked(netanvil):
    netanvil.run(sim={unable!r}, **OPTIONS)
""",
    )
    assert counts == {"failed": 4}
    # The summary says it again, whole, where CI is set.
    undecided = re.findall(r"^E +netanvil.errors.FigureUndecided: throughput at 64 bytes", said, re.MULTILINE)
    assert len(undecided) == 2 and "tester-limited" in said
    assert "NoSuchFigure: no figure is `throughput` at 64 bytes" in said and "50 ms hold less than two frames" in said
    assert "TesterFellShort: invalid: throughput, 64" in said


def test_a_marker_gives_options_to_each_run(pytester: pytest.Pytester) -> None:
    counts, said = outcomes(
        pytester,
        """
pytestmark = pytest.mark.netanvil(sim="routr", **OPTIONS)

@pytest.mark.netanvil(sim="router")
def test_the_nearest_marker_counts(netanvil):
    result = netanvil.run()
    assert result.device == "simulated device router"
    assert result.folder.parent.name.startswith("test_the_nearest")

def test_the_outer_one_counts_else(netanvil):
    netanvil.run()

@pytest.mark.netanvil("router")
def test_options_have_names(netanvil):
    pass
""",
    )
    assert counts == {"passed": 1, "failed": 1, "errors": 1}
    assert "no simulated device or file `routr`" in said
    assert "takes options by name only" in said


def test_what_a_test_leaves_running_is_stopped(pytester: pytest.Pytester) -> None:
    counts, _ = outcomes(
        pytester,
        """
import os
kept = []

def test_leaves_it(netanvil):
    kept.append(netanvil.start_traffic(sim="router", rate="1kpps", duration="forever"))
    next(kept[0])

def test_it_has_ended():
    assert kept[0].close() is None
    with pytest.raises(ProcessLookupError):
        os.kill(kept[0].pid, 0)
""",
    )
    assert counts == {"passed": 2}


def test_another_program_can_be_named(pytester: pytest.Pytester) -> None:
    counts, said = outcomes(
        pytester,
        """
def test_run(netanvil):
    netanvil.devices()
""",
        "--netanvil-program=/nowhere/netanvil",
    )
    assert counts == {"errors": 1} and "/nowhere/netanvil" in said
