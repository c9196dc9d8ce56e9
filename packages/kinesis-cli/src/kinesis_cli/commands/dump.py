"""The command `kinesis dump`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.output import ProgressLine, end_with_reader, note
from kinesis_cli.records import ALL, Choice, RecordCounts, Span, Wanted, open_file, open_writer, record_lists


def dump(
    stream: StreamName,
    /,
    *,
    since: str = "TRIM_HORIZON",
    until: str = "now",
    wanted: Wanted = ALL,
    file: Path | None = None,
    output: Annotated[Literal["json", "raw", "arrow", "parquet"] | None, Parameter(alias="-o")] = None,
    connect: Connect = DEFAULT,
) -> None:
    """
    Write the records of a stream to a file.

    Without `--file` they go to the standard output: `kinesis dump orders > orders.jsonl`. `kinesis replay` writes them
    to a stream again.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    since
        Begin there: `10m` or `PT10M` (ten minutes ago), a date or an ISO 8601 time (in UTC without a zone), or `TRIM_HORIZON`
        (the oldest record).
    until
        End there: a time as above, or `now`.
    file
        The file to write. It appears when it is complete. Its name decides the form: `.jsonl`, `.arrow` or `.parquet`.
    output
        `json` (a line with all of a record; the default), `raw` (lines of payloads), `arrow` (an Arrow stream) or
        `parquet`.
    """
    now_ms = int(time.time() * 1000)
    span = Span.parse(None, since, until, False, now_ms)
    choice = Choice.parse(wanted)
    counts = RecordCounts()
    with open_file(file, output) as (target, form), ProgressLine() as progress:
        writer = open_writer(form, target, template="")
        if file is None:
            end_with_reader()
        with (
            choice.running(),
            connect.open(stream, consumer=wanted.efo, consumer_tags=wanted.consumer_tags) as source,
        ):
            for records in record_lists(source, span, choice):
                writer.write(records)
                counts.add(records)
                progress.show(counts.records, counts.size_bytes)
        writer.close()
    note(f"{counts} written")
    for text in choice.notes:
        note(text)
