"""The documentation as a site: its menu, links to the repository, the check of what was built."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

from docs.check_site import problems
from docs.repository_links import RepositoryLinks, outside

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


def listed(nav: Any) -> Iterator[str]:
    """Yield the paths of a menu, in their order."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from listed(entry)


def test_menu_has_every_page_once() -> None:
    """Each page of docs/ is in the menu of the site, once, and each entry of the menu is a page."""
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed(PROJECT["nav"])) == sorted(pages)


def test_site_uses_fonts_of_the_system() -> None:
    """The theme loads no fonts from the internet."""
    assert PROJECT["theme"]["font"] is False


@pytest.mark.parametrize(
    ("page", "href", "path"),
    [
        ("reliability.md", "../tests/contract", "tests/contract"),
        ("howto/writing.md", "../../README.md#the-promise", "README.md#the-promise"),
        ("reference/python/kinesis_core.md", "../../howto/writing.md", None),
        ("index.md", "concepts.md", None),
        ("index.md", "#start", None),
        ("howto/writing.md", "..", None),
        ("index.md", "https://example.com/../tests", None),
    ],
)
def test_link_that_leaves_the_pages(page: str, href: str, path: str | None) -> None:
    """A link leads out of the site if it climbs above docs/."""
    assert outside(page, href) == path


class Context(Extension):
    """The page and the configuration, as Zensical passes them to extensions."""

    def __init__(self, repo_url: str | None) -> None:
        super().__init__()
        self.repo_url = repo_url

    def extendMarkdown(self, md: Markdown) -> None:
        context: Any = Preprocessor(md)
        context.run = lambda lines: lines
        context.page = SimpleNamespace(path="reliability.md")
        context.config = {"repo_url": self.repo_url}
        md.preprocessors.register(context, "rendering_context", 0)


@pytest.mark.parametrize(
    ("repo_url", "html"),
    [
        (
            None,
            '<p><span title="tests/contract in the repository">tests</span>, <a href="index.md">home</a></p>',
        ),
        (
            "https://example.com/us/it/",
            '<p><a href="https://example.com/us/it/tree/HEAD/tests/contract">tests</a>, <a href="index.md">home</a></p>',
        ),
    ],
)
def test_link_to_the_repository(repo_url: str | None, html: str) -> None:
    """It leads to the repository once that has an address, and is text before. Links between pages do not change."""
    markdown = Markdown(extensions=[Context(repo_url), RepositoryLinks()])
    assert markdown.convert("[tests](../tests/contract), [home](index.md)") == html


def test_built_site_is_checked(tmp_path: Path) -> None:
    """A page, an anchor or a picture that is missing is found, and so is everything that other hosts would serve."""
    (tmp_path / "topic").mkdir()
    (tmp_path / "topic" / "index.html").write_text(
        '<h1 id="top">A</h1><a href="../#start">up</a><a href="#top">top</a>'
    )
    (tmp_path / "site.css").write_text("@import '//fonts.example.com/a.css'; a { background: url(data:,x) }")
    (tmp_path / "index.html").write_text(
        '<a href="topic/#nowhere">A</a><a href="away/">B</a><img src="none.svg"><link href="/site.css">'
        '<script src="https://cdn.example.com/x.js"></script><a href="https://example.com/">C</a>'
        '<a href="../beside.txt">D</a><link rel="canonical" href="https://example.com/docs/">'
    )
    (tmp_path.parent / "beside.txt").touch()
    assert problems(tmp_path) == [
        "index.html loads https://cdn.example.com/x.js",
        "index.html links to topic/#nowhere: no such anchor",
        "index.html links to away/: no such file",
        "index.html links to ../beside.txt: outside of the site",
        "index.html links to none.svg: no such file",
        "topic/index.html links to ../#start: no such anchor",
        "site.css loads //fonts.example.com/a.css",
    ]
