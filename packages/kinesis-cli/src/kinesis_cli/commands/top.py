"""The command `kinesis top`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kinesis_cli.completing import completed, stream_names
from kinesis_cli.connecting import WITH_TABLES, ConnectWithTables
from kinesis_cli.ending import CommandError, UsageError

if TYPE_CHECKING:
    from kinesis_cli.live import ReadersOf


def top(
    stream: Annotated[str | None, completed(stream_names)] = None,
    /,
    *,
    checkpoint: Annotated[Sequence[str], Parameter(negative="", show_default=False)] = (),
    application: Annotated[Sequence[str], Parameter(negative="", show_default=False)] = (),
    every: float = 1.0,
    connect: ConnectWithTables = WITH_TABLES,
) -> None:
    """
    Show streams and shards live: what comes in, and who reads.

    It is a full-screen program; q quits.

    Parameters
    ----------
    stream
        The stream: its name or ARN. Without it all streams of the account and region are listed; Enter opens one.
    checkpoint
        The checkpoint directory of a query of Spark: a path or a URL such as s3://bucket/checkpoint. May be repeated.
    application
        A KCL application or a consumer group: the name of its lease table in DynamoDB, or of its leases in the file --leases. May be
        repeated.
    every
        How often each shard is read, in seconds.
    connect
        How to reach AWS.
    """
    if not every >= 1:  # nor is it NaN
        raise UsageError(f"--every is {every:g}. Use 1 second or more: others read the shards, too.")
    if (checkpoint or application) and stream is None:
        raise UsageError("--checkpoint and --application need the stream that they read. Name it.")
    if find_spec("textual") is None:
        raise CommandError('This command needs textual: pip install "kinesis-cli[top]"')
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "This command needs a terminal. `kinesis shards` shows the same once, also as JSON."
        )
    from kinesis_cli.live import KinesisSource
    from kinesis_cli.screens import Top

    source = KinesisSource(connect.to, connect.to_account, _readers_of(checkpoint, application, connect))
    if stream is None:
        source.streams()
    else:
        source.stream(stream)  # a wrong name or key is reported as by any other command
    ended = Top(source, stream, every).run()
    if ended is not None:
        raise ended


def _readers_of(
    checkpoints: Sequence[str], applications: Sequence[str], connect: ConnectWithTables
) -> ReadersOf:
    from kinesis_cli.lag import measure_lag, name_readers
    from kinesis_cli.live import no_readers, readers_by

    if not (checkpoints or applications or connect.leases):
        return no_readers
    readers = name_readers(checkpoints, applications, connect.leases)
    return readers_by(lambda stream: measure_lag(connect.to(stream), readers, connect.dynamodb_endpoint_url))
