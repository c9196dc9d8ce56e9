"""The code blocks of a page, and what a reader does with each."""

from __future__ import annotations

import re
import textwrap
from enum import Enum
from pathlib import Path

from attrs import frozen

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
HEADING = re.compile(r"^## (.+)$", re.M)
SHOWN = {"text", "json", "yaml", "sql", "dockerfile", "properties", "scala"}
"""Languages of blocks that are only read."""


class Use(Enum):
    """What a reader does with a block."""

    FILE = "write a file of this name"
    CELL = "run it in Python, after the cells before it"
    COMMANDS = "run it in the terminal"
    SERVICE = "run it in another terminal, and leave it running"
    READ = "only read it"
    UNKNOWN = "nobody knows"


@frozen
class Block:
    """
    A code block.

    Attributes:
        section: The heading of level 2 above it.
    """

    language: str
    title: str
    text: str
    section: str = ""

    @property
    def use(self) -> Use:
        if (self.language in SHOWN and not self.is_file) or self.title.startswith("On "):
            return Use.READ
        if self.is_file:
            return Use.FILE
        if self.language == "python":
            return Use.CELL
        if self.language == "sh":
            return Use.SERVICE if self.title == "another terminal" else Use.COMMANDS
        return Use.UNKNOWN

    @property
    def is_output(self) -> bool:
        """Whether it shows what the block before it prints. A block of another language, or without a fence, shows other things."""
        return self.language == "text" and not self.title

    @property
    def is_file(self) -> bool:
        return re.fullmatch(r"[\w/]+\.\w+", self.title) is not None


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    headings = [(heading.start(), heading[1]) for heading in HEADING.finditer(text)]
    found = []
    for fence in FENCE.finditer(text):
        section = next((title for start, title in reversed(headings) if start < fence.start()), "")
        found.append(Block(fence["language"], fence["title"] or "", textwrap.dedent(fence["text"]), section))
    return found
