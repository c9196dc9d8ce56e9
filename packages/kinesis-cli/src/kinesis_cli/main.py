"""Runs one command: its errors become one line on the standard error, and an exit status."""

from __future__ import annotations

# Until `run` is called, Ctrl-C shows a traceback. So only what is imported anyway is imported here, and `signal`.
import io
import os
import sys

from kinesis_cli.ending import CommandError, Status
from kinesis_cli.signals import SignalError, handle_signals, ignore_signals

TYPE_CHECKING = False  # to import it from typing would take a third of the time until then
if TYPE_CHECKING:
    import logging
    from collections.abc import Sequence
    from typing import NoReturn

LOG_LEVEL = "KINESIS_LOG_LEVEL"
"""The environment variable that shows events of our packages. With DEBUG an unexpected error shows its traceback."""


def run() -> NoReturn:
    """Run the command line of this process. It ends here: threads that still wait for Kinesis end with it."""
    status = _run()
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 # contextlib would be imported for it
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(status)


def _run() -> int:
    """Return the exit status. A signal may also come before `main` begins and while it ends."""
    try:
        handle_signals()
        sys.unraisablehook = lambda _: None  # errors of objects that are cleaned up
        _prepare_streams()
        status = main(sys.argv[1:])
        ignore_signals()
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except SignalError as error:
        status = error.arrive()
    except BrokenPipeError:
        status = Status.READER_GONE
    ignore_signals()
    return status


def main(arguments: Sequence[str]) -> int:
    """Run the command that *arguments* name. Return the exit status, a `Status`."""
    name = _command_name(arguments)
    try:
        from kinesis_cli.app import make_app

        _show_warnings(name)
        status = make_app(is_listed=name == "kinesis")(list(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except SignalError as error:
        return error.arrive()
    except BrokenPipeError:
        return Status.READER_GONE
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return Status.READER_GONE  # rich ends the process with 1 when nobody reads what it prints
    except Exception as error:  # noqa: BLE001 # the last place: every error becomes a line and a status
        status, message = _explain(error, name, arguments)
        try:  # noqa: SIM105 # contextlib would be imported for it
            sys.stderr.write(f"{name}: {' '.join(message.split())}\n")
        except OSError:  # it is full or gone, and the status says that something failed
            pass
    return Status.DONE if status is None else int(status)


def _show_warnings(name: str) -> None:
    """Let warnings of the core look like errors of the command *name*."""
    import logging

    def in_one_line(record: logging.LogRecord) -> bool:
        record.msg, record.args = " ".join(record.getMessage().split()), ()
        return True

    shown = logging.StreamHandler()
    shown.addFilter(in_one_line)
    logging.basicConfig(format=f"{name}: %(message)s", handlers=[shown], level=logging.WARNING)


def _prepare_streams() -> None:
    """
    Replace the standard streams that the caller has closed, and let others replace characters that they do not have.

    What is written to a standard output that was closed is an error.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 # until the end of the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of ASCII has no characters for bars and trees
            stream.reconfigure(errors="replace")


def _command_name(arguments: Sequence[str]) -> str:
    """Return what error lines begin with: the command as the user typed it, without its options."""
    first = arguments[0] if arguments else ""
    return "kinesis" if first.startswith("-") or not first else f"kinesis {first}"


def _explain(error: Exception, name: str, arguments: Sequence[str]) -> tuple[Status, str]:
    """Return the exit status for *error*, and its message."""
    from cyclopts import CycloptsError

    from kinesis_cli.file_errors import explain
    from kinesis_cli.wording import in_words_of_commands
    from kinesis_core import DataLossError, KinesisError, OptionError
    from kinesis_credentials import RegionError

    match error:
        case CycloptsError():
            return Status.USAGE, f"{error}{_hint(name, arguments)} See '{_help_of(name, error)} --help'."
        case CommandError():
            return error.status, str(error)
        case OptionError() | RegionError():
            return Status.USAGE, in_words_of_commands(error)
        case KinesisError():
            status = Status.INCOMPLETE if isinstance(error, DataLossError) else Status.FAILED
            return status, in_words_of_commands(error)
        case OSError():
            return Status.FAILED, explain(error)
        case ModuleNotFoundError():
            return Status.FAILED, str(error)
    if os.environ.get(LOG_LEVEL, "").strip().upper() == "DEBUG":
        raise error
    kind = type(error).__name__
    advice = f"Run it again with {LOG_LEVEL}=DEBUG, and report what that prints."
    return Status.FAILED, f"internal error ({kind}: {error}). {advice}"


def _hint(name: str, arguments: Sequence[str]) -> str:
    """Return what to type instead, if a flag is used as other programs have it."""
    if name == "kinesis tail":
        return _hint_of_tail(arguments)
    if not any(each.startswith("-f") for each in arguments):
        return ""
    return " Only `kinesis tail` has -f, which is --format. Write --file or --follow in full."


def _hint_of_tail(arguments: Sequence[str]) -> str:
    follows = " New records are followed without an option: kinesis tail STREAM."
    for each in arguments:
        if each.startswith("-f"):
            return f" -f is --format, the form of a line.{follows}"
        if each == "-F":
            return follows
        if each.startswith("-") and each[1:].isdigit():
            return f" The last {each[1:]} records are shown by -n {each[1:]}."
    return ""


def _help_of(name: str, error: Exception) -> str:
    from cyclopts import UnknownCommandError

    return "kinesis" if isinstance(error, UnknownCommandError) else name
