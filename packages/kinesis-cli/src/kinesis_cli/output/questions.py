"""Asks before a command changes something that other programs use."""

from __future__ import annotations

import sys

from kinesis_cli.ending import CommandError


def confirm(question: str, *, yes: bool) -> None:
    """
    Ask *question* on the terminal, and return if the answer is yes. With *yes*, the option --yes, nothing is asked.

    Raises:
        CommandError: The answer is no, or there is no terminal to ask on.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            f"{question} There is no terminal to ask on: add --yes if you mean it. Nothing was changed."
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was changed.")
