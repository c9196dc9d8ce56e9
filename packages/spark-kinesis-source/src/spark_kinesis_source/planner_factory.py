"""From options to open streams and a planner over them: what runs on the driver."""

from __future__ import annotations

import logging
from collections.abc import Collection

from attrs import evolve

from kinesis_core.aws import Connection, StreamApi, check_reading, dry_run_client, stream_client
from kinesis_core.leases import LeasePublisher, open_table
from kinesis_core.planning import Limits, Planner, PlanSettings
from spark_kinesis_source.options import SourceOptions

log = logging.getLogger("spark_kinesis_source")

CHECK_INTERVAL_S, LONGEST_CHECK_INTERVAL_S, CHECK_OUTAGE_S = 0.2, 1.0, 6.0
"""Whoever starts a query waits for its first error; once it runs, patience costs nobody's time."""


def check_streams(connection: Connection) -> None:
    """
    See that every stream is there and may be read, with one DescribeStreamSummary each and dry runs of what follows.

    Raises:
        ServiceError: A stream is missing, access is denied, or Kinesis cannot be reached.
    """
    hasty = _hasten(connection)
    for ref in connection.streams:
        stream_client(hasty, ref).describe()
        dry_runs = dry_run_client(hasty, ref)
        if dry_runs is not None:
            check_reading(dry_runs)


def open_planner(options: SourceOptions, *, is_planned_once: bool = True) -> Planner:
    """
    Return a planner over all streams of *options*, once they have been found to be there.

    Unless it *is_planned_once*, a long gap is crossed over several plans, and holds up no other shard.
    """
    check_streams(options.connection)
    for note in options.ignored:
        log.info("option.ignored", extra={"context": {"note": note}})
    apis = _open_streams(options.connection)
    settings = PlanSettings(
        limits=_limits(options, apis.values()),
        min_fetch_period_s=options.min_fetch_period_s,
        shard_discovery_interval_s=options.shard_discovery_interval_s,
        fail_on_data_loss=options.fail_on_data_loss,
        trim_horizon_margin_s=options.trim_horizon_margin_s,
        first_plan_crosses_gaps=is_planned_once,
    )
    return Planner(apis, settings, threads=options.planning_threads)


def open_publisher(options: SourceOptions) -> LeasePublisher | None:
    """
    Return what publishes progress, once its table has been found to be there or made; None when nothing does.

    Raises:
        OptionError: The table is one of something else.
        ServiceError: Access is denied.
    """
    if options.lease_table is None:
        return None
    table = open_table(
        _hasten(options.connection), options.lease_table.name, options.lease_table.endpoint_url
    )
    publisher = LeasePublisher(table, _open_streams(options.connection))
    publisher.prepare()
    return publisher


def _hasten(connection: Connection) -> Connection:
    """Let calls be tried again as often as ever, which overcomes what passes, but quickly."""
    retry = connection.retry
    hasty = evolve(
        retry,
        interval_s=min(retry.interval_s, CHECK_INTERVAL_S),
        max_interval_s=min(retry.max_interval_s, LONGEST_CHECK_INTERVAL_S),
        outage_timeout_s=min(retry.outage_timeout_s, CHECK_OUTAGE_S),
    )
    return evolve(connection, retry=hasty)


def _open_streams(connection: Connection) -> dict[str, StreamApi]:
    return {ref.label: stream_client(connection, ref) for ref in connection.streams}


def _limits(options: SourceOptions, apis: Collection[StreamApi]) -> Limits:
    """Return what a batch may hold of one shard; a bound for the whole batch is shared out to the shards of now."""
    shards = 1
    if options.max_bytes_per_batch is not None:
        shards = sum(shard.is_open for api in apis for shard in api.list_shards())
    return Limits(options.max_records_per_shard, options.bound_bytes(shards))
