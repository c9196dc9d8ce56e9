"""The command `kinesis tail`."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.output import end_with_reader, has_colours, note
from kinesis_cli.records import ALL, DEFAULT_TEMPLATE, Choice, Span, Wanted, open_writer, record_lists


def tail(
    stream: StreamName,
    /,
    *,
    last: Annotated[int | None, Parameter(alias="-n")] = None,
    since: str | None = None,
    until: str | None = None,
    follow: bool = True,
    wanted: Wanted = ALL,
    format: Annotated[str, Parameter(alias="-f")] = DEFAULT_TEMPLATE,
    output: Annotated[Literal["text", "json", "raw", "arrow"], Parameter(alias="-o")] = "text",
    delimiter: str = "\\n",
    connect: Connect = DEFAULT,
) -> None:
    """
    Show the records of a stream as they arrive.

    All shards are read, also those that come by splits and merges. Their records are merged by arrival time, and
    KPL aggregates are unpacked. Payloads are shown as JSON or text; bytes that are neither are escaped.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    last
        Show this many of the last records first: those that arrived last in all shards together.
    since
        Begin there: `10m` or `PT10M` (ten minutes ago), a date or an ISO 8601 time (in UTC without a zone), `TRIM_HORIZON` (the
        oldest record) or `LATEST`.
    until
        End there: a time as above, or `now`.
    follow
        Wait for new records, until Ctrl-C. With `--no-follow` it ends at the newest record.
    format
        The form of a record as text: `%t` time, `%k` key, `%s` payload, `%S` its size, `%p` shard, `%q` sequence
        number, `%u` sub-sequence number, `%h` explicit hash key, `%T` time in milliseconds.
    output
        `text`, `json` (a line with all of a record), `raw` (the payloads) or `arrow` (an Arrow stream).
    delimiter
        What follows each record in the outputs `text` and `raw`, such as `\\0`.
    """
    now_ms = int(time.time() * 1000)
    span = Span.parse(last, since, until, follow, now_ms)
    choice = Choice.parse(wanted)
    writer = open_writer(
        output, sys.stdout.buffer, template=format, delimiter=delimiter, colour=has_colours()
    )
    end_with_reader()
    try:
        with (
            choice.running(),
            connect.open(stream, consumer=wanted.efo, consumer_tags=wanted.consumer_tags) as source,
        ):
            for records in record_lists(source, span, choice):
                writer.write(records)
        writer.close()
    finally:  # also after Ctrl-C
        for text in choice.notes:
            note(text)
