"""Where the program is, and running it as a child that cannot outlive its purpose."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sysconfig
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TypeAlias

from .errors import ProgramFailed, ProgramNotFound

__all__ = ["Child", "Option", "arguments", "call", "find_program"]

#: What an option of the program may be given as.
Option: TypeAlias = bool | int | float | str | os.PathLike[str] | Sequence[object] | Mapping[str, object] | None

#: The program to use in place of that of the wheel.
ENVIRONMENT = "NETANVIL_PROGRAM"

#: Options that stand alone: there is no value that turns them off.
_PLAIN = frozenset({"as_timed", "fresh_selftest", "yes"})
#: Options that are repeated for each value, since a value may hold commas or takes one place.
_REPEATED = frozenset({"accept", "device_info", "fail_if", "goal", "set"})

#: Options that this module sets.
_OWN = frozenset({"json", "print_config", "quiet", "stdin_control"})

#: How long a run may take to stop in order before it is forced.
STOP_S = 60.0


def find_program() -> Path:
    """The program: of `NETANVIL_PROGRAM`, of this package's wheel, or of the search path."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        if not Path(given).is_file():
            raise ProgramNotFound(f"{ENVIRONMENT} names `{given}`, which is no file")
        return Path(given).resolve()
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")]
    for folder in folders:
        program = Path(folder) / "netanvil"
        if program.is_file():
            return program
    found = shutil.which("netanvil")
    if found:
        return Path(found)
    raise ProgramNotFound(
        f"no program `netanvil` in {folders[0]} nor in PATH; install the wheel again, or name the "
        f"program in the environment variable {ENVIRONMENT}"
    )


def arguments(options: Mapping[str, Option]) -> list[str]:
    """Options as the command line writes them: `frame_limit=50000` is `--frame-limit=50000`."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name in _OWN:
            raise TypeError(f"{name} is set by this module: leave it out")
        if value is None:
            continue
        if name in _PLAIN:
            if not isinstance(value, bool):
                raise TypeError(f"{name} is True or False, not {value!r}")
            words += [flag] if value else []
        elif isinstance(value, bool):
            words.append(flag if value else f"{flag}=false")
        elif name in _REPEATED:
            words += [f"{flag}={one}" for one in _several(name, value)]
        elif isinstance(value, Mapping):
            raise TypeError(f"{name} takes no mapping, but {value!r} is one")
        else:
            words.append(f"{flag}={_one(name, value)}")
    return words


def _several(name: str, value: Option) -> Iterable[str]:
    if isinstance(value, Mapping):
        return [f"{key}={_toml(name, one)}" for key, one in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(one) for one in value]
    return [str(value)]


def _toml(name: str, value: object) -> str:
    """A value as a section of a configuration file has it; text of `device_info` as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and name == "set":
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)


def _one(name: str, value: Option) -> str:
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, Sequence):
        for one in value:
            if not isinstance(one, str | int | float | os.PathLike):
                raise TypeError(f"{name} has the value {one!r}, which is no text and no number")
        return ",".join(os.fspath(one) if isinstance(one, os.PathLike) else str(one) for one in value)
    return str(value)


def call(words: Sequence[str]) -> str:
    """Runs the program to its end and gives its standard output."""
    command = [str(find_program()), *words]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise ProgramFailed(ended.stderr.strip(), exit_code=ended.returncode, command=command)
    return ended.stdout


class Child:
    """The program while it runs.

    It holds the other end of the child's standard input. The program stops in order when that closes, so nothing
    keeps running when this process ends, however it ends.
    """

    def __init__(self, words: Sequence[str], *, reads_stdout: bool, folder: Path | None = None) -> None:
        self.command = [str(find_program()), *words]
        # A group of its own: Ctrl-C reaches this process alone, which then stops the child in order.
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=folder,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self.stdout: IO[str] = self._process.stdout
        self._said: list[str] = []
        self._printed: list[str] = []
        self._readers = [threading.Thread(target=_read, args=(self._process.stderr, self._said))]
        if not reads_stdout:
            self._readers.append(threading.Thread(target=_read, args=(self.stdout, self._printed)))
        for reader in self._readers:
            reader.daemon = True
            reader.start()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def said(self) -> str:
        """What it said on standard error, so far."""
        return "".join(self._said)

    @property
    def printed(self) -> str:
        """What it printed on standard output, if nobody else reads that."""
        return "".join(self._printed)

    def poll(self) -> int | None:
        """The exit code, or `None` while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float | None = None) -> int:
        """Waits for the end and gives the exit code."""
        code = self._process.wait(timeout_s)
        for reader in self._readers:
            reader.join()
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._close_stdin()
        return code

    def press(self, keys: str) -> None:
        """Sends keys, as at a terminal."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which its exit code tells
            self._process.stdin.write(keys)
            self._process.stdin.flush()

    def stop(self, within_s: float = STOP_S) -> int:
        """Stops it as Ctrl-C does, by force if it takes longer, and gives the exit code."""
        if self.poll() is not None:
            return self.wait()
        if len(self._readers) == 1:
            # A child that stops may print more than a pipe holds, and nobody reads it any more.
            threading.Thread(target=_read, args=(self.stdout, []), daemon=True).start()
        self._close_stdin()
        try:
            return self.wait(within_s)
        except subprocess.TimeoutExpired:
            self._force()
            raise ProgramFailed(
                f"the program did not stop within {within_s:g} s and was ended by force",
                exit_code=self._process.returncode,
                command=self.command,
            ) from None
        except KeyboardInterrupt:
            self._force()
            raise

    def _force(self) -> None:
        """The second signal: it ends at once, and leaves to `clean` what it has built."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        subprocess.run([self.command[0], "clean"], capture_output=True, check=False)

    def _close_stdin(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended in the meantime
            self._process.stdin.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _read(stream: IO[str], into: list[str]) -> None:
    for line in stream:
        into.append(line)
