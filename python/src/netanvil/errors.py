"""What can go wrong, as exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .figure import Figure
    from .result import Result
    from .traffic import Summary

__all__ = [
    "FigureInvalid",
    "FigureUndecided",
    "NetanvilError",
    "NoSuchFigure",
    "NotAccepted",
    "ProgramFailed",
    "ProgramNotFound",
    "TesterFellShort",
]


class NetanvilError(Exception):
    """The base of all exceptions of this package."""


class ProgramNotFound(NetanvilError):
    """There is no program `netanvil` to run."""


class ProgramFailed(NetanvilError):
    """The program ended with exit code 2: wrong usage, or the tester or its host failed.

    The text is the program's own message.
    """

    def __init__(self, message: str, *, exit_code: int, command: Sequence[str], folder: Path | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.command = tuple(command)
        #: The run folder with what was measured before, where there is one.
        self.folder = folder


class NotAccepted(NetanvilError):
    """Exit code 1: a criterion (`accept`, `fail_if`) decided against the device.

    `result` has everything that was measured.
    """

    exit_code = 1

    def __init__(self, message: str, result: Result | Summary) -> None:
        super().__init__(message)
        self.result = result


class TesterFellShort(NetanvilError):
    """Exit code 3: a test has no valid result, so some figure of the device is missing; the message says why.

    `result` has everything that was measured.
    """

    exit_code = 3
    __test__ = False  # no class of tests, whatever pytest makes of its name

    def __init__(self, message: str, result: Result | Summary) -> None:
        super().__init__(message)
        self.result = result


class FigureUndecided(NetanvilError):
    """A comparison, or a number, was asked of a figure that is not known well enough."""

    def __init__(self, message: str, figure: Figure) -> None:
        super().__init__(message)
        self.figure = figure


class FigureInvalid(FigureUndecided):
    """The same of a figure of which nothing is known: no trial was valid."""


class NoSuchFigure(NetanvilError, LookupError):
    """No figure of the result, or more than one, is what was asked for."""
