"""How a command ends: exit statuses, and the errors of this package."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The exit statuses of all commands. The documentation lists them."""

    DONE = 0
    """The command did what it was asked for."""
    FAILED = 1
    """A call, a file or a check failed. The last line on the standard error says which, and what to do."""
    USAGE = 2
    """The command line is wrong. Nothing was done."""
    INCOMPLETE = 3
    """
    Some of the work was done and some was not: records that were not written or have expired, or problems that `doctor` found.
    """
    HUNG_UP = 129
    """The signal SIGHUP: the terminal was closed."""
    INTERRUPTED = 130
    """Ctrl-C."""
    READER_GONE = 141
    """The program that reads the output has ended, such as `head`."""
    TERMINATED = 143
    """The signal SIGTERM."""


class CommandError(Exception):
    """
    A command cannot continue. The message is one line that says what to do.

    It is no KinesisError: its words are those of a command already, and this module is imported before Ctrl-C is handled.
    """

    status = Status.FAILED


class UsageError(CommandError):
    """An option or argument has a wrong value. Nothing was done."""

    status = Status.USAGE


class IncompleteError(CommandError):
    """A command has done some of its work, and cannot do the rest."""

    status = Status.INCOMPLETE
