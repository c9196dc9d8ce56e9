"""The command `kinesis replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import completed, stream_names
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.ending import Status, UsageError
from kinesis_cli.output import ProgressLine, note
from kinesis_cli.records import FileForm, form_of
from kinesis_cli.stopping import Stopping

AT_ONCE = float("inf")
BUFFERED_S = 0.1
"""How late a record may be because it waits for others to share a request with."""


def replay(
    source: Annotated[str, Parameter(name="FILE", allow_leading_hyphen=True)],
    stream: Annotated[str | None, completed(stream_names)] = None,
    /,
    *,
    file: str | None = None,
    speed: Annotated[float | Literal["max"], Parameter(alias="-s")] = 1.0,
    form: Literal["json", "arrow", "parquet"] | None = None,
    aggregate: bool = True,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> Status | None:
    """
    Write the records of a file to a stream, at the pace at which they arrived.

    `kinesis dump` writes such files. The records keep their payloads, partition keys and explicit hash keys. Kinesis gives
    them new sequence numbers and arrival times.

    Ctrl-C stops reading; what was read before is written. A second Ctrl-C ends the command at once.

    Parameters
    ----------
    source
        The file to read. `-` is the standard input. With `--file` it is left out.
    stream
        The stream: its name or ARN.
    file
        The file to read.
    speed
        How many times faster than recorded: `10`, `0.5`, or `max` for no pauses at all.
    form
        The form of the file. Default: what its name says, or `json`.
    aggregate
        Pack many records into one record of Kinesis, as the Kinesis Producer Library does. Consumers must unpack them.
    output
        A line on the standard error with the counts, or an object of JSON on the standard output.
    """
    from kinesis_cli.putting import RowWriter, check_files, put_rows
    from kinesis_cli.replaying import keep_pace, read_recorded
    from kinesis_core import ProducerSettings

    factor = AT_ONCE if speed == "max" else float(speed)
    if not factor > 0:
        raise UsageError(f"--speed is {speed}. Use a number above 0, or max.")
    match file, stream:
        case None, str(target):
            pass
        case str(), None:
            source, target = file, source
        case _:
            raise UsageError("One file and one stream are needed: FILE STREAM, or --file FILE STREAM.")
    path = None if source == "-" else Path(source)
    if path is not None:
        check_files([source])
    found: FileForm = form_of(path, form, "--form")
    settings = ProducerSettings(aggregation_enabled=aggregate, record_max_buffered_time_s=BUFFERED_S)
    producer = connect.open_producer(target, settings)
    writer = RowWriter(producer, note)
    with Stopping() as stopping, ProgressLine() as progress:
        rows = keep_pace(read_recorded(path, found, stopping), factor, stopping)
        return put_rows(rows, writer, producer, progress, stopping, as_json=output == "json")
