"""Writes records to a file or the standard output, in one of several forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Literal, Protocol

from attrs import frozen

from kinesis_cli.ending import CommandError
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


def open_writer(
    output: Output, target: IO[bytes], *, template: str, delimiter: str = "\n", colour: bool = False
) -> RecordWriter:
    """
    Return a writer to *target*.

    Raises:
        CommandError: The output is binary and *target* is a terminal, or pyarrow is not installed.
        UsageError: *template* has an unknown field.
    """
    ending = delimiter.encode().decode("unicode_escape").encode("latin-1")
    match output:
        case "text":
            show = compile_template(template, colour)
            return LineWriter(target, lambda record: show(record).encode(), ending)
        case "json":
            return LineWriter(target, encode_line, b"\n")
        case "raw":
            return LineWriter(target, lambda record: record.data, ending)
    if target.isatty():
        raise CommandError(f"The output '{output}' is not for a terminal. Send it to a file: > FILE")
    from kinesis_cli.records.arrow import open_arrow

    return open_arrow(output, target)
