"""Writes records to a file or the standard output, in one of several forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Literal, Protocol

from attrs import frozen

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.records.lines import encode_line
from kinesis_cli.records.templates import compile_template

if TYPE_CHECKING:
    from kinesis_core import UserRecord

Output = Literal["text", "json", "raw", "arrow", "parquet"]


class RecordWriter(Protocol):
    """Writes lists of records. Nothing that was written waits for the next list, except in Parquet."""

    def write(self, records: list[UserRecord]) -> None: ...

    def close(self) -> None:
        """Complete the output."""
        ...


@frozen
class LineWriter:
    """Writes each record as bytes with a delimiter after it."""

    target: IO[bytes]
    show: Callable[[UserRecord], bytes]
    delimiter: bytes

    def write(self, records: list[UserRecord]) -> None:
        self.target.write(self.delimiter.join([*map(self.show, records), b""]))
        self.target.flush()

    def close(self) -> None:
        self.target.flush()


def _printable_line(record: UserRecord) -> bytes:
    """Return the line with escapes for the characters that control a terminal. They are in texts only."""
    return encode_line(record).decode().translate(_CONTROLS).encode()


_CONTROLS = {number: f"\\u{number:04x}" for number in range(0x7F, 0xA0)}


def parse_delimiter(text: str) -> bytes:
    """
    Return the bytes that *text* names, with escapes such as `\\n` and `\\0`.

    Raises:
        UsageError: It has an escape that is none.
    """
    try:
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape").encode()
    except UnicodeError as error:
        raise UsageError(f"--delimiter is '{text}'. Use text with escapes such as \\n and \\0.") from error


def open_writer(
    output: Output, target: IO[bytes], *, template: str, delimiter: str = "\n", colour: bool = False
) -> RecordWriter:
    """
    Return a writer to *target*.

    Raises:
        CommandError: The output is binary and *target* is a terminal, or pyarrow is not installed.
        UsageError: *template* has an unknown field.
    """
    ending = parse_delimiter(delimiter)
    match output:
        case "text":
            show = compile_template(template, colour)
            return LineWriter(target, lambda record: show(record).encode(errors="surrogateescape"), ending)
        case "json":
            return LineWriter(target, _printable_line if target.isatty() else encode_line, b"\n")
        case "raw":
            return LineWriter(target, lambda record: record.data, ending)
    if target.isatty():
        raise CommandError(f"The output '{output}' is not for a terminal. Send it to a file: > FILE")
    from kinesis_cli.records.arrow import open_arrow

    return open_arrow(output, target)
