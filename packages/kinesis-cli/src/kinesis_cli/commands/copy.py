"""The command `kinesis copy`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName, completed, destination_names
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.destination import SAME, Destination
from kinesis_cli.ending import Status
from kinesis_cli.output import ProgressLine, note, show_time
from kinesis_cli.stopping import Stopping


def copy(
    source: StreamName,
    destination: Annotated[str, completed(destination_names)],
    /,
    *,
    since: str = "TRIM_HORIZON",
    until: str | None = None,
    follow: bool = False,
    aggregate: bool = True,
    state: Path | None = None,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
    to: Destination = SAME,
) -> Status | None:
    """
    Copy the records of one stream to another one, which may be in another account, region or service.

    Parameters
    ----------
    source
        The stream to read: its name or ARN.
    destination
        The stream to write: its name or ARN.
    since
        Begin there: `10m` or `PT10M` (ten minutes ago), a date or an ISO 8601 time (in UTC without a zone), or `TRIM_HORIZON`
        (the oldest record).
    until
        End there: a time as above, or `now`. Default: at the newest record of each shard.
    follow
        Wait for new records, until Ctrl-C. With `--no-follow` it ends at the newest record.
    aggregate
        Pack many records into one record of Kinesis, as the Kinesis Producer Library does. Consumers must unpack them.
    state
        A file that keeps the position. With it the same command continues where it ended.
    output
        A line on the standard error with the counts, or an object of JSON on the standard output.
    """
    from kinesis_cli.copying import CopyWriter, StateFile, check_different, copy_parts, plan_copy
    from kinesis_core import ProducerSettings

    plan = plan_copy(since, until, follow=follow, now_ms=int(time.time() * 1000))
    reading = connect.to(source)
    writing = to.connect(destination, connect, reading.region_of(reading.streams[0]))
    read, written = check_different(reading, writing.to(destination))
    file = None if state is None else StateFile(state, read, written)
    saved = None if file is None else file.read()
    if saved is not None:
        note(f"Continues after {show_time(saved.reached_ms)}, the position in {state}.")
    producer = writing.open_producer(destination, ProducerSettings(aggregation_enabled=aggregate))
    with connect.open(source) as stream, Stopping() as stopping, ProgressLine() as progress:
        parts = plan.parts(stream, saved, None if file is None else read.retention_hours)
        writer, as_json = CopyWriter(producer, note), output == "json"
        return copy_parts(parts, writer, producer, progress, stopping, file, as_json=as_json)
