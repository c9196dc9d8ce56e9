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
from docs.finish_site import api_article, llms_txt, qualify, twin
from docs.repository_links import RepositoryLinks, outside
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

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
    """A missing page, anchor, picture or heading of a Markdown twin is found, and so is everything that other hosts would serve."""
    (tmp_path / "topic").mkdir()
    (tmp_path / "topic" / "index.html").write_text(
        '<h1 id="top">A</h1><a href="../#start">up</a><a href="#top">top</a>'
    )
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "index.html").write_text(
        '<h1 id="a"><code>a.b</code> &amp; c<a href="#a">&para;</a></h1><h2>Lost\nwords</h2>'
    )
    (tmp_path / "kept.md").write_text("# `a.b` & c\n\n[A](#a), [A](topic.md)\n")
    (tmp_path / "index.md").write_text("[A](topic.md#top), [B](away.md), `[C](code.md)`")
    (tmp_path / "topic.md").touch()
    (tmp_path / "llms.txt").write_text("- [Home](index.md)\n- [Kept](kept.md)\n- [B](away.md)")
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
        "index.md links to away.md: no such file",
        "llms.txt links to away.md: no such file",
        "kept.md lacks the heading 'Lost words'",
        "llms.txt has no Markdown twin of topic/index.html",
    ]


def test_twin_is_the_page_for_readers_of_the_site() -> None:
    """It has no comments for programs. A link to the repository becomes text, or leads there. Code stays as it is."""
    page = "<!-- made by a program -->\n\nSee [tests](../tests/unit) and [Concepts](concepts.md).\n\n```text\n[a](../b)\n```\n"
    code = "\n\n```text\n[a](../b)\n```\n"
    assert twin("reliability.md", page) == f"See tests and [Concepts](concepts.md).{code}"
    linked = "See [tests](https://example.com/it/tree/HEAD/tests/unit) and [Concepts](concepts.md)."
    assert twin("reliability.md", page, "https://example.com/it") == linked + code


def test_twin_of_the_python_api_leads_to_other_twins() -> None:
    """Its links go to Markdown. The permanent links of headings and what is for readers on GitHub are left out."""
    html = (
        '<article><h1 id="a">core<a class="headerlink" href="#a">&para;</a></h1><p class="on-github">On the site.</p>'
        '<p>See <a href="../../../howto/write/#b">b_c</a>, <a class="autorefs" href="../core/#d">D</a>.</p></article>'
    )
    assert api_article("reference/python/core.md", html) == (
        '<h1 id="a">core</h1><p>See <a href="../../howto/write.md#b">b_c</a>, D.</p>'
    )


def test_list_of_twins_has_the_sections_of_the_menu() -> None:
    """A page has its heading and its first sentence, without what to read before or first. A page that begins with a table has its heading."""
    project = {
        "site_name": "It",
        "site_description": "Reads.",
        "nav": [{"How-to": [{"Run": ["a.md"]}]}, "b.md"],
    }
    texts = {
        "a.md": "# Run it\n\nBefore you start: [B](b.md).\n\n**In a hurry:** skip it.\n\nThis page\nruns [it](b.md): `x`. More.\n",
        "b.md": "# B\n\n| a |\n| --- |\n\nText.\n",
    }
    assert llms_txt(project, texts) == (
        "# It\n\n> Reads.\n\n## How-to\n\n- [Run it](a.md): This page runs it.\n\n## More\n\n- [B](b.md)\n"
    )


def test_search_has_members_of_the_python_api_in_texts() -> None:
    """So a search for a word finds the headings of pages that have it before attributes of that name, and classes by their names."""
    index = {
        "items": [
            {"location": "reference/python/core/#core.state.Group.lag", "title": "lag", "text": "A"},
            {"location": "reference/python/core/#core.Group", "title": "Group", "text": "B"},
            {"location": "reference/python/core/#core.state.LAG", "title": "LAG", "text": "C"},
            {"location": "reference/python/core/#errors", "title": "Errors", "text": "D"},
            {"location": "concepts/#lag", "title": "Lag", "text": "E"},
        ]
    }
    qualify(index)
    assert [(item["title"], item["text"]) for item in index["items"]] == [
        ("core.state.Group", "<p>lag</p>A"),
        ("core.Group", "B"),
        ("core.state.LAG", "C"),
        ("Errors", "D"),
        ("Lag", "E"),
    ]


def test_every_option_has_an_anchor() -> None:
    """The heading of an option is its name, so links to `options.md#startingposition` work on the site and on GitHub."""
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    names = [option.name for table in (SOURCE_OPTIONS, SINK_OPTIONS) for option in table.options]
    assert [name for name in names if page.count(f"\n### `{name}`\n") != 1] == []
