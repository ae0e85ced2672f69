#!/usr/bin/env python3
"""Executes the tutorials of docs/tutorials, block by block, and checks what they claim of the output.

    extras/tutorials.py --netanvil FILE [--quick] [NAME...]

As root: each tutorial runs in a scratch folder and in mount and network namespaces of its own, so that nothing
remains. Exit code 1 if a tutorial fails, or if more than --undecided of them were held up in three attempts.

What a tutorial consists of:

    ```sh            commands. One shell executes all blocks of a tutorial, in order, and ends at an error.
    ```text          what the last commands print: its lines, in this order; other lines may stand between them.
                     N is a number, ? a digit, and three dots are any text. Spaces and line breaks of a
                     wrapped line do not count.
    ```python, toml, rust    a file, if a line before it is `Save this as ...` with the name in backquotes.

and in HTML comments, which a reader does not see:

    <!-- tutorial: long -->       only `make tutorials` executes it
    <!-- tutorial: as nobody -->  an ordinary user executes it
    <!-- network: host -->        the next block needs the host's network (a package registry)
    <!-- prepare ... -->          commands of `ip` that make namespaces, interfaces and addresses
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
NOBODY = 65534
# What says that this machine held the tester up, and not that a tutorial is wrong.
HELD_UP = re.compile(
    r"tester-limited|FELL SHORT|no result|NO VALID RESULT|not decided|undecided|could not offer"
)
NUMBER = r"(?:\d[\d,]*(?:\.\d+)?)"


class Wrong(Exception):
    """A tutorial that does not say what is so."""


@dataclasses.dataclass
class Block:
    """Commands, with the lines that they should print."""

    line: int
    commands: str
    on_host_network: bool = False
    claims: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tutorial:
    name: str
    blocks: list[Block]
    is_long: bool
    as_nobody: bool


def read(path: pathlib.Path) -> Tutorial:
    """A tutorial as its blocks. Anything that would not be executed or checked is an error."""
    text = path.read_text()
    blocks: list[Block] = []
    prose = ""
    host = False
    place = re.compile(r"^```(\w*)\n(.*?)^```$|^<!--(.*?)-->$", re.DOTALL | re.MULTILINE)
    settings: set[str] = set()
    end = 0
    for found in place.finditer(text):
        prose, end = text[end : found.start()], found.end()
        line = text.count("\n", 0, found.start()) + 1
        where = f"{path.name}:{line}"
        language, body, comment = found.groups()
        if comment is not None:
            comment = comment.strip()
            if comment == "network: host":
                host = True
            elif comment.startswith("tutorial: "):
                settings.add(comment.removeprefix("tutorial: "))
            elif comment.startswith("prepare\n"):
                commands = comment.removeprefix("prepare\n")
                for command in commands.splitlines():
                    if not command.startswith("ip "):
                        raise Wrong(f"{where}: hidden commands are of `ip` alone: {command}")
                blocks.append(Block(line, commands))
            else:
                raise Wrong(f"{where}: unknown comment: {comment}")
        elif language == "sh":
            blocks.append(Block(line, body, host))
            host = False
        elif language == "text":
            if not blocks or blocks[-1].claims:
                raise Wrong(f"{where}: no commands before this output")
            blocks[-1].claims = [claim for claim in body.splitlines() if claim.strip()]
        elif language in ("python", "toml", "rust", "json", "yaml"):
            name = re.search(r"Save this as `([\w./-]+)`", prose)
            if not name:
                raise Wrong(f"{where}: a file without `Save this as ...` before it")
            mark = "end of the file"
            blocks.append(Block(line, f"cat >{name[1]} <<'{mark}'\n{body}{mark}\n"))
        else:
            raise Wrong(f"{where}: a block of unknown kind: {language or 'none'}")
    unknown = settings - {"long", "as nobody"}
    if unknown:
        raise Wrong(f"{path.name}: unknown settings: {unknown}")
    if not any(block.claims for block in blocks):
        raise Wrong(f"{path.name}: it claims nothing, so it tests nothing")
    return Tutorial(path.stem, blocks, "long" in settings, "as nobody" in settings)


def pattern(claim: str) -> re.Pattern[str]:
    """A line of a ```text block as a regular expression over output with single spaces."""
    # Any text is text of a line, and of the two next ones into which it was wrapped.
    parts = re.split(r"(\bN\b|\?|\.\.\.|\s+)", claim.strip())
    translated = {"N": NUMBER, "?": r"\d", "...": r"(?:.*\n){0,2}?.*?"}
    expressions = (r"\s+" if part.isspace() else translated.get(part, re.escape(part)) for part in parts if part)
    return re.compile("".join(expressions))


def missing(claims: list[str], output: str) -> str | None:
    """The first claim that the output does not bear out."""
    at = 0
    for claim in claims:
        found = pattern(claim).search(output, at)
        if not found:
            return claim
        at = found.end()
    return None


class Shell:
    """One bash for all blocks of a tutorial, in namespaces of its own."""

    def __init__(self, tutorial: Tutorial, scratch: pathlib.Path, netanvil: pathlib.Path):
        self.scratch = scratch
        self.as_nobody = tutorial.as_nobody
        programs = scratch / ".programs"
        programs.mkdir()
        shutil.copy2(netanvil, programs / "netanvil")
        command = ["unshare", "--net", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "sh", "-c"]
        # Its own /run/netns, so that names are free and nothing remains. /proc of the own processes.
        inside = (
            "mount -t proc proc /proc && mount -t tmpfs none /run && mkdir -m 755 /run/netns && "
            "ip link set lo up && exec "
        )
        user = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups " if tutorial.as_nobody else ""
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(scratch),
            "REPOSITORY": str(ROOT),
            "LC_ALL": "C.UTF-8",
            **{key: os.environ[key] for key in ("CARGO_HOME", "RUSTUP_HOME") if key in os.environ},
        }
        home = pathlib.Path.home()
        environment.setdefault("CARGO_HOME", str(home / ".cargo"))
        environment.setdefault("RUSTUP_HOME", str(home / ".rustup"))
        if tutorial.as_nobody:
            for path in (scratch, programs):
                os.chown(path, NOBODY, NOBODY)
        # The host's network, for the blocks that ask for it.
        self.host = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.process = subprocess.Popen(
            [*command, inside + user + "bash --noprofile --norc -eo pipefail"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=scratch,
            env=environment,
            pass_fds=[self.host],
            text=True,
        )

    def run(self, number: int, block: Block) -> tuple[str, int | None]:
        """What a block printed, and its exit code, or none if it did not end."""
        folder = self.scratch / ".programs"
        script, output = folder / f"{number}.sh", folder / f"{number}.out"
        commands = block.commands
        if block.on_host_network:
            commands = f"nsenter --net=/proc/self/fd/{self.host} bash -eo pipefail <<'on the host'\n{commands}on the host\n"
        script.write_text(commands)
        script.chmod(0o644)
        output.touch()
        if self.as_nobody:
            os.chown(output, NOBODY, NOBODY)
        self.process.stdin.write(f". {script} >{output} 2>&1 </dev/null; echo block {number} ended\n")
        self.process.stdin.flush()
        said = ""
        for line in self.process.stdout:
            if line == f"block {number} ended\n":
                return output.read_text(errors="replace"), 0
            said += line
        return output.read_text(errors="replace") + said, self.process.wait()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.host)


def attempt(tutorial: Tutorial, netanvil: pathlib.Path, limit: int) -> str | None:
    """Executes a tutorial once; gives what was wrong."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="netanvil-tutorial-"))
    scratch.chmod(0o755)
    shell = Shell(tutorial, scratch, netanvil)
    # A block that hangs ends with its namespace.
    signal.signal(signal.SIGALRM, lambda *_: shell.process.kill())
    signal.alarm(limit)
    output, commands = "", ""
    try:
        for number, block in enumerate(tutorial.blocks):
            commands = block.commands
            output, code = shell.run(number, block)
            where = f"docs/tutorials/{tutorial.name}.md:{block.line}"
            if code != 0:
                return f"{where}: exit code {code} of\n{commands}{output}"
            claim = missing(block.claims, output)
            if claim is not None:
                return f"{where}: not printed: {claim}\nby\n{commands}{output}"
        return None
    finally:
        signal.alarm(0)
        shell.close()
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--netanvil", type=pathlib.Path, required=True)
    arguments.add_argument("--quick", action="store_true", help="without those that take minutes")
    arguments.add_argument("--undecided", type=int, default=2, help="how many may be held up")
    given = arguments.parse_args()
    if os.geteuid() != 0:
        print("tutorials: skipped: they need root")
        return 0
    paths = sorted(TUTORIALS.glob("*.md"))
    unknown = set(given.names) - {path.stem for path in paths}
    if unknown:
        arguments.error(f"no such tutorial: {', '.join(sorted(unknown))}")
    failed, undecided = [], []
    for path in paths:
        tutorial = read(path)
        if given.names and tutorial.name not in given.names or given.quick and tutorial.is_long:
            continue
        for trial in range(3):
            began = time.monotonic()
            wrong = attempt(tutorial, given.netanvil.resolve(), 900 if tutorial.is_long else 120)
            took = f"{time.monotonic() - began:.0f} s"
            if wrong is None or not HELD_UP.search(wrong):
                break
        if wrong is None:
            print(f"tutorial {tutorial.name}: ok, {took}", flush=True)
        elif HELD_UP.search(wrong):
            undecided.append(tutorial.name)
            print(f"tutorial {tutorial.name}: UNDECIDED: the tester was held up three times\n{wrong}", flush=True)
        else:
            failed.append(tutorial.name)
            print(f"tutorial {tutorial.name}: FAILED\n{wrong}", flush=True)
    if undecided:
        print(f"tutorials undecided: {', '.join(undecided)}; at most {given.undecided} may be")
    return 1 if failed or len(undecided) > given.undecided else 0


if __name__ == "__main__":
    sys.exit(main())
