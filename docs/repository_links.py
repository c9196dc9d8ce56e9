"""
A Markdown extension for links from a page to a file of the repository that is not a page, such as a test.

On GitHub the relative link works. The site does not have the file. If `repo_url` is set in zensical.toml, the link leads to the
repository. Otherwise it becomes plain text.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor

ROOT = Path(__file__).parents[1]
_DOCS = "docs"


class RepositoryLinks(Extension):
    """The extension. Zensical finds it by the name of this module."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 # a name of Python-Markdown
        md.treeprocessors.register(_Links(md), "repository_links", 0)


class _Links(Treeprocessor):
    def __init__(self, md: Markdown) -> None:
        super().__init__(md)
        self._preprocessors = md.preprocessors

    def run(self, root: Element) -> None:
        context: Any = self._preprocessors["rendering_context"]  # Zensical's page and configuration
        for link in root.iter("a"):
            path = outside(context.page.path, link.get("href", ""))
            if path is not None:
                redirect(link, path, context.config.get("repo_url"))


def outside(page: str, href: str) -> str | None:
    """Return the path in the repository, with its anchor, that *href* of *page* (relative to docs) leads to; None within docs."""
    url = urlsplit(href)
    if url.scheme or url.netloc or not url.path or url.path.startswith("/"):
        return None
    path = normpath(PurePosixPath(_DOCS, page).parent / url.path)
    if path == _DOCS or path.startswith(f"{_DOCS}/"):
        return None
    return f"{path}#{url.fragment}" if url.fragment else path


def redirect(link: Element, path: str, repo_url: str | None) -> None:
    """Let *link* lead to *path* at *repo_url*; without it, show the text and, on hover, the path."""
    if repo_url:
        link.set("href", repository_url(path, repo_url))
        return
    link.tag = "span"
    link.attrib.clear()
    link.set("title", f"{path} in the repository")


def repository_url(path: str, repo_url: str) -> str:
    kind = "tree" if (ROOT / path.partition("#")[0]).is_dir() else "blob"
    return f"{repo_url.rstrip('/')}/{kind}/HEAD/{path}"  # HEAD is the default branch


def makeExtension(**settings: Any) -> RepositoryLinks:  # noqa: N802 # a name of Python-Markdown
    return RepositoryLinks(**settings)
