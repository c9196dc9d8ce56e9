"""The command `kinesis lag`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName
from kinesis_cli.connecting import WITH_TABLES, ConnectWithTables
from kinesis_cli.ending import Status, UsageError

WATCH_S, SERVE_S = 5.0, 15.0
"""The periods unless --watch says another one. Prometheus scrapes every 15 to 60 seconds."""


def lag(
    stream: StreamName,
    /,
    *,
    checkpoint: Annotated[Sequence[str], Parameter(negative="", show_default=False)] = (),
    application: Annotated[Sequence[str], Parameter(negative="", show_default=False)] = (),
    watch: Annotated[tuple[float, ...] | None, Parameter(consume_multiple=(0, 1), negative="")] = None,
    serve: str | None = None,
    show_all: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: ConnectWithTables = WITH_TABLES,
) -> Status:
    """
    Show how far each reader of a stream is behind, per shard and in all.

    The lag of a reader in a shard is the age of the oldest record that it has not read. Readers are named by what they keep
    their positions in, and all of them are shown side by side. Nothing is changed.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    checkpoint
        The checkpoint directory of a query of Spark: a path or a URL such as s3://bucket/checkpoint. May be repeated.
    application
        A KCL application or a consumer group: the name of its lease table in DynamoDB, or of its leases in the file --leases. May be
        repeated.
    watch
        Measure again at this interval in seconds (5, unless given), until Ctrl-C. Give it after the stream.
    serve
        Serve the lag to Prometheus at [HOST]:PORT, until Ctrl-C. `:9400` can be reached from this machine only.
    show_all
        Show all shards: also those that are read to their end, and more than the worst 20.
    output
        Text, or one line of JSON.
    """
    from kinesis_cli.lag import Address, measure_lag, name_readers, serve_lag, show_lag, watch_lag

    readers = name_readers(checkpoint, application, connect.leases)
    address = None if serve is None else Address.parse(serve)
    period_s = _period_s(watch, WATCH_S if serve is None else SERVE_S)
    measure = partial(measure_lag, connect.to(stream), readers, connect.dynamodb_endpoint_url)
    if address is not None:
        serve_lag(stream, readers, measure, address, period_s)
    if watch is not None:
        watch_lag(measure, period_s, as_json=output == "json", show_all=show_all)
    return show_lag(measure(), as_json=output == "json", show_all=show_all)


def _period_s(watch: tuple[float, ...] | None, default_s: float) -> float:
    period_s = watch[0] if watch else default_s
    if not 0.1 <= period_s <= 86_400:
        raise UsageError(f"--watch is {period_s:g}. Use 0.1 to 86400 seconds.")
    return period_s
