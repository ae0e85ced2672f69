#!/usr/bin/env python3
"""Every source document beside ours: runs the reproductions and writes an index page of them.

Usage: extras/originals.py NETANVIL FOLDER [--short]

--short takes seconds in place of the durations of the originals. With chromium, each page is a PDF, too. The exit
code is 1 if a reproduction does not meet its targets: the index says which.
"""

import html
import pathlib
import shutil
import subprocess
import sys
import time

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 52rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { line-height: 1.2; }
article { border-top: 1px solid #8886; padding: .6rem 0 1rem; }
pre { white-space: pre-wrap; font-size: .85rem; overflow-wrap: anywhere; }
.met { color: #0a7a3d; } .missed { color: #c0392b; }
@media (prefers-color-scheme: dark) { .met { color: #4cc38a; } .missed { color: #ff8a7a; } }
@media print { article { break-inside: avoid; } }
"""


class Original:
    """A document: what it is, the command that repeats it, its page, and the lines that judge it."""

    def __init__(self, name, title, source, arguments, page, verdict, short=()):
        self.name, self.title, self.source = name, title, source
        self.arguments, self.page, self.verdict, self.short = arguments, page, verdict, list(short)


def last(count):
    """The last lines of a text that are not empty."""
    return lambda text: [line for line in text.splitlines() if line.strip()][-count:]


def from_line(begins):
    """All lines from the one that begins so."""

    def pick(text):
        lines = text.splitlines()
        starts = [at for at, line in enumerate(lines) if line.startswith(begins)]
        return [line for line in lines[starts[0]:] if line.strip()] if starts else last(3)(text)

    return pick


def answers(text):
    """The answers with which a run begins, without the line that names the device."""
    lines = text.splitlines()
    return lines[1 : lines.index("")] if "" in lines else lines[:8]


ORIGINALS = [
    Original(
        "netblt-1987",
        "NETBLT: tests of 1987",
        "RFC 1030, sections 4 to 7 and appendices II to IV",
        ["netblt", "reproduce-1987", "--html", "netblt-1987.html"],
        "netblt-1987.html",
        from_line("Steady-state throughput"),
    ),
    Original(
        "harvard-1989",
        "TCP/IP Router Performance, 1989",
        "Scott Bradner, Harvard University",
        ["harvard", "reproduce-1989", "--html", "harvard-1989.html"],
        "harvard-1989.html",
        from_line("What the text found"),
    ),
    Original(
        "harvard-1990",
        "Router tests of 1990",
        "Scott Bradner, Harvard University: 43 tables",
        ["harvard", "reproduce-1990", "--quiet", "--html", "harvard-1990.html"],
        "harvard-1990.html",
        last(2),
        ["--duration", "1s"],
    ),
    Original(
        "gigaswitch",
        "GIGAswitch: performance of 4, 8 and 34 ports",
        "Digital Equipment Corporation",
        ["run", "gigaswitch", "--sim", "gigaswitch", "--set", "chassis.fanout.all_ports_trial_s=1"]
        + ["--quiet", "--yes", "--out", "gigaswitch"],
        "gigaswitch/report.html",
        answers,
        ["--duration", "1s"],
    ),
    Original(
        "tolly-1998",
        "Multicast and unicast of the IP9000, 1998",
        "The Tolly Group",
        ["run", "tolly", "--sim", "ip9000", "--quiet", "--yes", "--out", "tolly-1998"],
        "tolly-1998/report.html",
        answers,
        ["--duration", "1s"],
    ),
]


def repeat(program, original, folder, short):
    """Runs a reproduction; gives its exit code, its verdict and its time in seconds."""
    began = time.monotonic()
    command = [program, *original.arguments, *(original.short if short else [])]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    (folder / f"{original.name}.txt").write_text(run.stdout)
    verdict = original.verdict(run.stdout) if run.stdout else run.stderr.splitlines()[-3:]
    return run.returncode, verdict, time.monotonic() - began


def pdf(folder, page):
    """The page as a PDF beside it, where there is a browser."""
    browser = shutil.which("chromium")
    to = folder / page.replace("/report", "").replace(".html", ".pdf")
    if browser and (folder / page).exists():
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        into = f"--print-to-pdf={to}"
        subprocess.run([browser, *options, into, f"file://{(folder / page).resolve()}"], capture_output=True, check=False)
    return to.name if to.exists() else None


def article(original, code, verdict, seconds, printed):
    """What the index says of a document."""
    words = {0: ("met", "targets met"), 1: ("missed", "targets missed")}
    if original.arguments[0] == "run":
        # A run has no targets: its tables have the published figures beside ours.
        words = {0: ("met", "repeated")}
    mark, said = words.get(code, ("missed", f"not repeated: exit code {code}"))
    links = [f'<a href="{original.page}">tables and graphs</a>', f'<a href="{original.name}.txt">as text</a>']
    links += [f'<a href="{printed}">PDF</a>'] if printed else []
    return (
        f"<article><h2>{html.escape(original.title)}</h2><p>{html.escape(original.source)}</p>"
        f'<p><strong class="{mark}">{said}</strong> in {seconds:.0f} s; {", ".join(links)}</p>'
        f"<pre>{html.escape(chr(10).join(verdict))}</pre></article>"
    )


def main():
    """Runs all, and writes the index."""
    program, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    short = "--short" in sys.argv[3:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    articles, worst = [], 0
    for original in ORIGINALS:
        code, verdict, seconds = repeat(program, original, folder, short)
        print(f"{original.name}: exit code {code}, {seconds:.0f} s", flush=True)
        articles.append(article(original, code, verdict, seconds, pdf(folder, original.page)))
        worst = max(worst, code)
    durations = "Trials last a second each: a first look." if short else "Durations are those of the originals."
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The originals, repeated</title><style>{STYLE}</style><h1>The originals, repeated</h1>"
        f"<p>Each document's tests in virtual time on models of its devices and networks. {durations}</p>"
        + "".join(articles)
    )
    (folder / "index.html").write_text(page)
    print(f"page: {(folder / 'index.html').resolve()}")
    sys.exit(worst)


main()
