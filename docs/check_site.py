"""
Checks a built site: each link leads to a page and an anchor of it, pages load nothing from other hosts, and each page has a
Markdown twin that has its headings, and whose links work.

    python -m docs.check_site .nox/html

Zensical's strict mode checks links between pages. It leaves out images, links in raw HTML, and what the theme adds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"audio", "embed", "iframe", "img", "input", "link", "object", "script", "source", "video"}
"""Elements that a browser loads by itself, without a click."""
_NAMED_ONLY = {"alternate", "canonical"}
"""Links of a page's head that a browser does not load."""
_CODE = re.compile(r"^ *```.*?^ *``` *$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_HEADINGS = re.compile(r"<(h[1-6])\b[^>]*>(.*?)</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_MARKDOWN_LINKS = re.compile(r"\]\(([^()\s]+)\)")
_LOADED_BY_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class _Page(HTMLParser):
    """The anchors and the links of one page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "link" and values.get("rel") in _NAMED_ONLY:
            return
        for name in ("href", "src", "data"):
            if value := values.get(name):
                (self.loaded if tag in _LOADED else self.links).append(value)


def problems(site: Path) -> list[str]:
    """Return a sentence for each link of *site* that leads nowhere, and for each file of another host that is loaded."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name} loads {url}" for url in page.loaded if _is_foreign(url)]
        found += [
            f"{name} links to {url}: {wrong}"
            for url in page.links + page.loaded
            if not _is_foreign(url) and (wrong := _wrong(url, path, site, pages))
        ]
    return [*found, *_foreign_styles(site), *_twins(site)]


def _is_foreign(url: str) -> bool:
    return bool(urlsplit(url).netloc)


def _wrong(url: str, path: Path, site: Path, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(url)
    if parts.scheme:  # data:, mailto:
        return None
    target = path
    if parts.path:
        # Only the page for errors has links from the root: the server shows it at any address.
        base = site if parts.path.startswith("/") else path.parent
        target = Path(base, unquote(parts.path).lstrip("/")).resolve()
        if not target.is_relative_to(site):
            return "outside of the site"
        target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "no such anchor"
    return None


def _foreign_styles(site: Path) -> Iterator[str]:
    for path in sorted(site.rglob("*.css")):
        for url in _LOADED_BY_STYLES.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} loads {url}"


def _twins(site: Path) -> Iterator[str]:
    """Yield what is wrong with the Markdown twins and with llms.txt, which lists them."""
    texts = sorted([*site.rglob("*.md"), *site.glob("llms.txt")])
    linked = set()
    for path in texts:
        for url in _MARKDOWN_LINKS.findall(_CODE.sub("", path.read_text(encoding="utf-8"))):
            parts = urlsplit(url)
            if parts.scheme or not parts.path:
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            if not target.is_file():
                yield f"{path.relative_to(site)} links to {url}: no such file"
            elif path.name == "llms.txt":
                linked.add(target)
    for page in sorted(site.rglob("index.html")):
        own = page.parent
        if twin := {own / "index.md", own.with_suffix(".md")} & linked:
            yield from _missing_headings(page, twin.pop(), site)
        else:
            yield f"llms.txt has no Markdown twin of {page.relative_to(site)}"


def _missing_headings(page: Path, twin: Path, site: Path) -> Iterator[str]:
    in_twin = {_words(line) for line in twin.read_text(encoding="utf-8").splitlines() if line.startswith("#")}
    for _, html in _HEADINGS.findall(page.read_text(encoding="utf-8")):
        if (heading := _words(unescape(_TAG.sub("", html)))) and heading not in in_twin:
            yield f"{twin.relative_to(site)} lacks the heading '{heading}'"


def _words(text: str) -> str:
    """Return *text* without punctuation, such as the marks of code and of a permanent link."""
    return " ".join(re.findall(r"\w+", text))


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]).resolve())
    sys.exit("\n".join(found) or None)
