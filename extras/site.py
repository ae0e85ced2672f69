#!/usr/bin/env python3
"""Renders the documents as a static site: extras/site.py MKDOCS INTO

docs/index.md orders the pages: its sections and links are the navigation. A document that it does not name, a link
whose target is not there, and an anchor that no heading has are errors.
"""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "index.md"
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def navigation() -> list[dict[str, object]]:
    """The sections of docs/index.md with their pages."""
    sections: list[dict[str, object]] = [{"netanvil": "README.md"}, {"Documentation": "docs/index.md"}]
    for section in re.split(r"^## ", INDEX.read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        pages = re.findall(r"^\* \[(.+?)\]\((.+?)\)$", body, flags=re.MULTILINE)
        # A title of the navigation is plain text.
        sections.append({title: [{name.replace("`", ""): page_of(link)} for name, link in pages]})
    return sections


def page_of(link: str) -> str:
    return str((INDEX.parent / link).resolve().relative_to(ROOT))


def stage(folder: pathlib.Path) -> None:
    """Copies the documents, and the files that they link to, in the places that they have in the repository."""
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benches/*.md")]
    for document in documents:
        copy(document, folder)
        for link in LINK.findall(document.read_text()):
            target = document.parent / urllib.parse.unquote(link.partition("#")[0])
            if "://" not in link and target.is_file() and target.suffix != ".md":
                copy(target.resolve(), folder)


def copy(file: pathlib.Path, folder: pathlib.Path) -> None:
    into = folder / file.relative_to(ROOT)
    into.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, into)


def configuration(staged: pathlib.Path, into: pathlib.Path) -> str:
    """For MkDocs. JSON is YAML."""
    return json.dumps(
        {
            "site_name": "netanvil",
            "docs_dir": str(staged),
            "site_dir": str(into),
            "use_directory_urls": False,
            "theme": {"name": "readthedocs", "highlightjs": False, "navigation_depth": 2},
            "markdown_extensions": [{"toc": {"permalink": "#"}}],
            "plugins": ["search"],
            "extra_css": ["site.css"],
            "nav": navigation(),
            "strict": True,
            "validation": {
                "omitted_files": "warn",
                "absolute_links": "warn",
                "unrecognized_links": "warn",
                "anchors": "warn",
            },
        }
    )


class Page(html.parser.HTMLParser):
    """What a rendered page has, and what it refers to."""

    def __init__(self, path: pathlib.Path):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.ids.update(filter(None, (values.get("id"), values.get("name"))))
        self.links.extend(filter(None, (values.get("href"), values.get("src"))))


def broken(site: pathlib.Path) -> list[str]:
    """The links of the rendered pages that lead nowhere within the site."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            split = urllib.parse.urlsplit(link)
            if split.scheme or split.netloc or path.name == "404.html":
                continue
            target = (path.parent / urllib.parse.unquote(split.path)).resolve() if split.path else path
            if target.is_dir():
                target /= "index.html"
            ids = pages[target].ids if target in pages else None
            if not target.is_file():
                wrong.append(f"{path.relative_to(site)}: {link}: no such file")
            elif split.fragment and ids is not None and split.fragment not in ids:
                wrong.append(f"{path.relative_to(site)}: {link}: no such heading")
    return wrong


def main() -> int:
    mkdocs, into = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    staged = into.with_name(into.name + "-pages")
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    stage(staged)
    shutil.copyfile(ROOT / "extras" / "site.css", staged / "site.css")
    configured = into.with_name(into.name + ".yml")
    configured.write_text(configuration(staged, into))
    built = subprocess.run([mkdocs, "build", "--clean", "--config-file", configured], check=False)
    if built.returncode != 0:
        return built.returncode
    wrong = broken(into)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if not wrong:
        print(f"site: {into}/index.html")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
