"""Keywords for Robot Framework.

*** Settings ***
Library    netanvil.robot.Keywords

*** Test Cases ***
The Router Carries 90,000 Frames A Second
    Run Device Test    sim=router    profile=quick    test=throughput    sizes=64
    Figure Should Be At Least    throughput    64    90000
"""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library

import netanvil

__all__ = ["Keywords"]


@library(scope="TEST", auto_keywords=False)
class Keywords:
    """Runs tests of network devices, and compares what they measured.

    A comparison that the result does not decide fails with the reason.
    """

    def __init__(self) -> None:
        self._result: netanvil.Result | None = None
        self._summary: netanvil.Summary | None = None

    @keyword
    def run_device_test(self, suite: str | None = None, **options: str) -> netanvil.Result:
        """Runs ``netanvil run`` with these options: ``frame_limit=50000`` is ``--frame-limit 50000``."""
        with netanvil.start(suite, **_typed(options)) as run:
            self._result = run.wait()
        logger.info(f"report: {self._result.report}")
        return self._result

    @keyword
    def send_traffic(self, **options: str) -> netanvil.Summary:
        """Runs ``netanvil traffic`` with these options."""
        with netanvil.start_traffic(**_typed(options)) as sending:
            self._summary = sending.wait()
        return self._summary

    @keyword
    def get_figure(self, name: str, frame_size: str | None = None) -> netanvil.Figure:
        """The figure of the last run; ``float(figure)`` is its number, if it is known."""
        if self._result is None:
            raise AssertionError("nothing was measured yet: write `Run Device Test` before this")
        return self._result.figure(name, frame_size)

    @keyword
    def figure_should_be_at_least(self, name: str, frame_size: str, bound: float) -> None:
        """Fails unless everything that is known of the figure is at least the bound."""
        figure = self.get_figure(name, frame_size)
        if not figure >= bound:
            raise AssertionError(f"{figure} is less than {bound:g}")

    @keyword
    def figure_should_be_at_most(self, name: str, frame_size: str, bound: float) -> None:
        """Fails unless everything that is known of the figure is at most the bound."""
        figure = self.get_figure(name, frame_size)
        if not figure <= bound:
            raise AssertionError(f"{figure} is more than {bound:g}")

    @keyword
    def loss_should_be_at_most(self, ratio: float) -> None:
        """Fails if the last traffic lost a larger share of its frames, 0 to 1."""
        if self._summary is None:
            raise AssertionError("nothing was sent yet: write `Send Traffic` before this")
        if self._summary.loss_ratio > ratio:
            lost, sent = self._summary.lost_frames, self._summary.sent_frames
            raise AssertionError(f"{lost} of {sent} frames are lost, more than {ratio:g} of them")


def _typed(options: dict[str, str]) -> dict[str, netanvil.Option]:
    """Text of a test case: `True` and `False` are switches."""
    switches = {"true": True, "false": False}
    return {name: switches.get(text.lower(), text) for name, text in options.items()}
