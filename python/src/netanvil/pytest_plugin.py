"""A plugin for pytest: the fixture `netanvil`, and the marker of the same name.

    def test_throughput(netanvil):
        result = netanvil.run(device="linux-router", profile="quick", test=["throughput"], sizes=[64])
        assert result.throughput(64) >= 1.0e6

A comparison that the result does not decide fails the test with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import netanvil as module

from .errors import NotAccepted, TesterFellShort
from .figure import Figure
from .program import ENVIRONMENT, Option, find_program

_MARKER = "netanvil"


class Netanvil:
    """The fixture: what the module `netanvil` has, with run folders kept apart for each test."""

    def __init__(self, folder: Path, marked: dict[str, Option]) -> None:
        self._folder = folder
        self._marked = marked
        self._open: list[module.Run | module.Traffic] = []
        self.results: list[module.Result] = []

    def run(
        self,
        suite: str | None = None,
        *,
        progress: Callable[[module.Event], object] | None = None,
        check: bool = True,
        **options: Option,
    ) -> module.Result:
        """As `netanvil.run`, with the options of the test's marker."""
        with self.start(suite, **options) as running:
            for event in running:
                if progress is not None:
                    progress(event)
            try:
                result = running.wait(check=check)
            except (NotAccepted, TesterFellShort) as error:
                if isinstance(error.result, module.Result):
                    self.results.append(error.result)
                raise
        self.results.append(result)
        return result

    def start(self, suite: str | None = None, **options: Option) -> module.Run:
        """As `netanvil.start`, with the options of the test's marker."""
        options = {**self._marked, **options}
        if options.get("resume") is None:
            options.setdefault("out", self._folder / f"run-{len(self._open)}")
        run = module.start(suite, **options)
        self._open.append(run)
        return run

    def traffic(self, *, check: bool = True, **options: Option) -> module.Summary:
        """As `netanvil.traffic`."""
        return self.start_traffic(**options).wait(check=check)

    def start_traffic(self, **options: Option) -> module.Traffic:
        """As `netanvil.start_traffic`."""
        traffic = module.start_traffic(**options)
        self._open.append(traffic)
        return traffic

    def devices(self) -> list[module.Device]:
        """As `netanvil.devices`."""
        return module.devices()

    def close(self) -> None:
        """Stops what the test left running."""
        for each in self._open:
            each.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("netanvil")
    group.addoption("--netanvil-program", metavar="FILE", help="the program netanvil to use in place of the wheel's")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(**options): options of each run of the test's fixture netanvil, such as "
        'netanvil(sim="router", profile="quick")',
    )


@pytest.fixture
def netanvil(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[Netanvil, None, None]:
    """Runs tests of network devices; what is left running at the end of the test is stopped."""
    program = request.config.getoption("--netanvil-program")
    if program:
        monkeypatch.setenv(ENVIRONMENT, program)
    find_program()
    marked: dict[str, Option] = {}
    for mark in reversed(list(request.node.iter_markers(_MARKER))):
        if mark.args:
            pytest.fail(f"the marker netanvil takes options by name only, not {mark.args!r}")
        marked.update(mark.kwargs)
    fixture = Netanvil(tmp_path, marked)
    request.node.stash[_FIXTURE] = fixture
    try:
        yield fixture
    finally:
        fixture.close()


_FIXTURE = pytest.StashKey[Netanvil]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Says with each failure where the reports are."""
    report = yield
    fixture = item.stash.get(_FIXTURE, None)
    if report.when == "call" and report.failed and fixture is not None and fixture.results:
        pages = "\n".join(str(result.report) for result in fixture.results)
        report.sections.append(("netanvil reports", pages))
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Bounds and reason of a figure that fails an assertion."""
    figure, bound = (left, right) if isinstance(left, Figure) else (right, left)
    if not isinstance(figure, Figure) or isinstance(bound, Figure):
        return None
    lines = [f"{left!r} {op} {right!r}"]
    if figure.low is not None or figure.high is not None:
        lines.append(f"from {figure.low} to {figure.high} {figure.unit} ({figure.basis})")
    if figure.reason:
        lines.append(figure.reason)
    return lines
