"""A run that goes on: an iterator of its events."""

from __future__ import annotations

import contextlib
import json
import os
import time
import weakref
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType

from .errors import NotAccepted, ProgramFailed, TesterFellShort
from .events import Event, RunFinished, event
from .program import Child, Option, arguments
from .result import Result

__all__ = ["Run", "start"]

#: Between two looks at a record that has grown no further.
POLL_S = 0.02

#: Characters of a device's name that its run folder keeps.
NAME_MAX = 60


def start(suite: str | None = None, **options: Option) -> Run:
    """Starts a run; the result is an iterator of its events.

    `suite` and `options` are those of `netanvil run`: `frame_limit=50000` is `--frame-limit 50000`.

        with netanvil.start(sim="router", profile="quick") as run:
            for event in run:
                print(event)
            result = run.wait()

    The run stops, as with Ctrl-C, when the `with` block is left or nothing refers to the run any more.
    """
    return Run(suite, options)


class Run(Iterator[Event]):
    """A run that goes on, or has ended."""

    def __init__(self, suite: str | None, options: dict[str, Option]) -> None:
        options = dict(options)
        self._made: list[Path] = []
        resume = options.get("resume")
        if resume is not None:
            self.folder = Path(str(resume))
        else:
            out = options.get("out")
            self.folder = self._new_folder(options) if out is None else Path(str(out))
            options["out"] = self.folder
        self._record = self.folder / "events.jsonl"
        #: Where the next event begins: a run that is resumed has told those before.
        self._place = _end_of_lines(self._record) if resume is not None else 0
        self._rest: list[bytes] = []
        self._finished: RunFinished | None = None
        words = ["run", *([suite] if suite else []), "--quiet", "--stdin-control"]
        try:
            self._child = Child([*words, *arguments(options)], reads_stdout=False)
        except BaseException:
            self._remove_empty()
            raise
        self._finalizer = weakref.finalize(self, _stop_quietly, self._child)

    @property
    def command(self) -> list[str]:
        """The command line."""
        return self._child.command

    @property
    def pid(self) -> int:
        """Of the program."""
        return self._child.pid

    def __next__(self) -> Event:
        try:
            line = self._line()
        except BaseException:  # Ctrl-C: a notebook would keep the run, and the run would go on
            self.close()
            raise
        if line is None:
            self._check_failure()
            raise StopIteration
        told = event(json.loads(line))
        if isinstance(told, RunFinished):
            self._finished = told
        return told

    def _line(self) -> bytes | None:
        """The next whole line of the record; none at its end."""
        while not self._rest:
            ended = self._child.poll() is not None  # before looking: nothing is written after it
            self._read()
            if self._rest:
                break
            if ended:
                return None
            time.sleep(POLL_S)
        return self._rest.pop(0)

    def _read(self) -> None:
        try:
            with self._record.open("rb") as record:
                record.seek(self._place)
                data = record.read()
        except FileNotFoundError:
            return
        whole, feed, _torn = data.rpartition(b"\n")
        self._place += len(whole) + len(feed)
        self._rest += [line for line in whole.split(b"\n") if line]

    def wait(self, *, check: bool = True) -> Result:
        """Waits for the end and gives the results.

        Raises `ProgramFailed` where the program failed; with `check` also `NotAccepted` where a criterion of
        `accept` is not met, and `TesterFellShort` where a test has no valid result. The latter two have the
        `result`.
        """
        try:
            for _event in self:
                pass
            code = self._child.wait()
        except BaseException:
            self.close()
            raise
        said = self._child.said.strip()
        result = Result.load(self.folder, exit_code=code, text=self._child.printed, messages=said)
        if check and code == 1:
            raise NotAccepted(said, result)
        if check and code == 3:
            raise TesterFellShort(said, result)
        return result

    def _check_failure(self) -> None:
        """Once the program has ended: an exception where it failed."""
        code = self._child.wait()
        if code in (0, 1, 3):
            return
        kept = self.folder if self._record.exists() else None
        self._remove_empty()
        said = self._child.said.strip() or f"the program ended with code {code}"
        raise ProgramFailed(said, exit_code=code, command=self.command, folder=kept)

    def close(self) -> None:
        """Stops the run, as Ctrl-C does, and waits until it has removed what it built."""
        try:
            self._child.stop()
        finally:
            self._remove_empty()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _new_folder(self, options: dict[str, Option]) -> Path:
        """`runs/<date>-<device>`, as the program names it."""
        of = options.get("device") or options.get("ports") or options.get("sim") or ""
        name = "-".join(map(str, of)) if isinstance(of, list | tuple) else str(of)
        name = f"sim-{name}" if options.get("sim") else name
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
        plain = plain[:NAME_MAX].strip("-")
        date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H-%M-%SZ")
        runs = Path("runs")
        if not runs.exists():
            runs.mkdir()
            self._made.append(runs)
        base = f"{date}-{plain}".rstrip("-")
        number, path = 1, runs / base
        while True:
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
                path = runs / f"{base}-{number}"
            else:
                self._made.append(path)
                return path

    def _remove_empty(self) -> None:
        """Folders that were made for nothing: the program refused the run."""
        for path in reversed(self._made):
            with contextlib.suppress(OSError):  # it holds a run
                os.rmdir(path)


def _end_of_lines(record: Path) -> int:
    try:
        return record.read_bytes().rfind(b"\n") + 1
    except FileNotFoundError:
        return 0


def _stop_quietly(child: Child) -> None:
    """When nobody holds the run any more, nobody can be told that it would not stop."""
    with contextlib.suppress(ProgramFailed):
        child.stop()
