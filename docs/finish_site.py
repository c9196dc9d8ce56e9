"""
Adds to a built site what Zensical leaves out: `python -m docs.finish_site .nox/html`.

* A Markdown twin of each page: `howto/deploy.md` beside `howto/deploy/`, so links between pages and to pictures stay as they are.
* `llms.txt`: all twins, by the sections of the menu.
* In the search, members of the Python API under the names of their classes: headings of pages that have the same words come first.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from docs.repository_links import ROOT, outside, repository_url

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = ROOT / "docs"
_FENCE = re.compile(r"^( *)```.*?^\1``` *$", re.DOTALL | re.MULTILINE)
_FOR_PROGRAMS = re.compile(r"^<!-- .* -->\n\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
_MEMBER = re.compile(r"(.*?\.[A-Z]\w*[a-z]\w*)\.(.+)")
_DIRECTIVE = re.compile(r"^::: ", re.MULTILINE)


def twin(page: str, text: str, repo_url: str | None = None) -> str:
    """Return *text* of *page* (relative to docs) for readers of the site: links to the repository work, or are text."""

    def link(found: re.Match[str]) -> str:
        path = outside(page, found[2])
        if path is None:
            return found[0]
        return f"[{found[1]}]({repository_url(path, repo_url)})" if repo_url else found[1]

    return _outside_of_fences(text, lambda prose: _LINK.sub(link, _FOR_PROGRAMS.sub("", prose)))


def _outside_of_fences(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def api_twin(page: str, html: str) -> str:
    """Return the Markdown of *page*, whose signatures and docstrings only the built *html* has."""
    from markdownify import markdownify

    article = api_article(page, html)
    text: str = markdownify(article, heading_style="ATX", bullets="*", escape_underscores=False)
    return re.sub(r"\n\s*\n+", "\n\n", text).strip() + "\n"


def api_article(page: str, html: str) -> str:
    """Return what *page* says, from its built *html*, with links to twins in place of pages."""
    article = html[html.index("<h1") : html.index("</article>")]
    article = re.sub(r'<a [^>]*class="headerlink".*?</a>|<p class="on-github">.*?</p>', "", article)
    article = re.sub(r'<a class="autorefs[^>]*>(.*?)</a>', r"\1", article, flags=re.DOTALL)
    folder = page.removesuffix(".md")

    def link(found: re.Match[str]) -> str:
        path, _, anchor = found[1].partition("#")
        target = relpath(normpath(f"{folder}/{path}"), Path(page).parent.as_posix())
        return f'href="{target}.md{"#" + anchor if anchor else ""}"'

    return re.sub(r'href="(\.\.?/[^"]*)"', link, article)


def title_and_summary(text: str) -> tuple[str, str]:
    """Return the heading of a page, and the first sentence of its first paragraph, if it has one before a table or a section."""
    blocks = [block for block in text.split("\n\n") if block.strip()]
    title = blocks[0].removeprefix("# ").strip()
    for block in blocks[1:]:
        if block.startswith(("Before you start", "**")):
            continue
        if re.match(r"[\w`\[]", block):
            prose = _LINK.sub(r"\1", " ".join(block.split()))
            return title, re.split(r"(?<=[.:])\s(?=[A-Z`])", prose)[0].rstrip(":.") + "."
        break
    return title, ""


def llms_txt(project: dict[str, Any], texts: dict[str, str]) -> str:
    """Return a list of all twins for programs that read, in the sections of the menu."""
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}"]
    for section, pages in _sections(project["nav"]):
        lines += ["", f"## {section}", ""]
        for page in pages:
            title, summary = title_and_summary(texts[page])
            lines.append(f"- [{title}]({page})" + (f": {summary}" if summary else ""))
    return "\n".join(lines) + "\n"


def _sections(nav: list[Any]) -> Iterator[tuple[str, list[str]]]:
    alone = [entry for entry in nav if isinstance(entry, str)]
    for entry in nav:
        if isinstance(entry, dict):
            for name, value in entry.items():
                yield name, list(_pages(value))
    yield "More", alone


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
        return
    for entry in nav.values() if isinstance(nav, dict) else nav:
        yield from _pages(entry)


def qualify(index: dict[str, Any]) -> None:
    """Title members of the Python API in the *index* of the search by package and class, and begin their text with their name."""
    for item in index["items"]:
        page, _, name = item["location"].partition("#")
        if page.startswith("reference/python/") and "." in name:
            item["title"] = name
            if member := _MEMBER.fullmatch(name):
                item["title"] = member[1]
                item["text"] = f"<p>{member[2]}</p>{item['text']}"


def finish(site: Path) -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    texts = {}
    for page in _pages(project["nav"]):
        text = (DOCS / page).read_text(encoding="utf-8")
        if _DIRECTIVE.search(text):
            html = site / page.removesuffix(".md") / "index.html"
            texts[page] = api_twin(page, html.read_text(encoding="utf-8"))
        else:
            texts[page] = twin(page, text, project.get("repo_url"))
        (site / page).write_text(texts[page], encoding="utf-8")
    (site / "llms.txt").write_text(llms_txt(project, texts), encoding="utf-8")
    path = site / "search.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    qualify(index)
    path.write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    finish(Path(sys.argv[1]).resolve())
