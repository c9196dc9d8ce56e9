"""Tables and notes. On a terminal they have colours and its width; in a pipe they are plain lines, as wide as they need to be."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDTH_IN_PIPES = 1000
"""Nothing is wrapped or cut there: another program reads it."""
_PLAIN = ("dumb", "unknown")
"""Terminals without colours, as rich has them for tables. NO_COLOR takes only colours away, and tables stay bold and dim."""


def is_terminal() -> bool:
    """Return whether a person sees the standard output."""
    return sys.stdout.isatty()


def has_colours() -> bool:
    """Return whether the standard output is shown in colours. The environment's NO_COLOR and FORCE_COLOR decide first."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal() and os.environ.get("TERM") not in _PLAIN)


def note(text: str) -> None:
    """Write one line to the standard error. If that is full or gone, the work and the exit status stay what they are."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def show(*results: RenderableType) -> None:
    """Write *results* to the standard output."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    if console.is_terminal:
        for result in results:
            console.print(result, crop=False)  # a line to copy may be longer than the terminal is wide
        return
    console = Console(highlight=False, width=_WIDTH_IN_PIPES, color_system=None)
    with console.capture() as captured:
        for result in results:
            console.print(result)
    lines = (line.rstrip() for line in captured.get().splitlines())
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def show_json(value: Any) -> None:
    """Write *value* to the standard output as one line of JSON."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()
