"""Opens streams, the planner and the lease publisher on the driver, from the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from kinesis_core.aws import Connection, StreamApi, StreamRef, check_reading, dry_run_client, stream_client
from kinesis_core.model import At, Offset, StartingPosition, names_applications
from kinesis_core.threads import ThreadPool
from kinesis_credentials.logs import get_logger
from spark_kinesis_source.options import DEAGGREGATE, STARTING_POSITION, SourceOptions, inside_aggregate_error

if TYPE_CHECKING:
    from kinesis_core.leases import LeasePublisher
    from kinesis_core.planning import Planner

log = get_logger("spark_kinesis_source")

CHECK_INTERVAL_S, LONGEST_CHECK_INTERVAL_S, CHECK_OUTAGE_S = 0.2, 1.0, 6.0
"""Shorter than in a running query: the user waits for the first error when a query starts."""


CHECKS = 8
"""Streams that are checked at the same time. Each takes up to five calls, one after the other, and Spark checks them twice."""


def check_streams(connection: Connection) -> None:
    """
    Check that every stream exists and may be read: one DescribeStreamSummary each, and dry runs of the calls that follow.

    Raises:
        ServiceError: A stream does not exist, access is denied, or Kinesis cannot be reached.
    """
    quick, streams = _with_short_retries(connection), connection.streams

    def check(ref: StreamRef) -> None:
        stream_client(quick, ref).describe()
        dry_runs = dry_run_client(quick, ref)
        if dry_runs is not None:
            check_reading(dry_runs)

    if len(streams) == 1:
        check(*streams)
        return
    with ThreadPool(min(CHECKS, len(streams)), "kinesis-check") as pool:
        list(pool.map(check, streams))


def open_planner(options: SourceOptions, *, is_planned_once: bool = True) -> Planner:
    """
    Return a planner over all streams of *options*, after checking that they exist.

    Without *is_planned_once*, a long gap is crossed in several plans, so that it does not delay other shards.
    """
    from kinesis_core.planning import Planner  # `load()` only checks the streams

    check_streams(options.connection)
    for reason in options.ignored:
        log.info("option.ignored", reason=reason)
    apis = _open_streams(options.connection)
    settings = evolve(options.plan, first_plan_crosses_gaps=is_planned_once)
    return Planner(apis, settings, threads=options.planning_threads)


def begin(
    planner: Planner, options: SourceOptions, position: StartingPosition
) -> tuple[Offset, StartingPosition]:
    """
    Return the offset that *position* means, and *position* with the lease table of a KCL application read.

    Raises:
        OptionError: A lease table does not say where to start, or a shard starts inside an aggregate that is not unpacked.
        ServiceError: A call to AWS failed after its retries.
    """
    if names_applications(position):
        from kinesis_core.leases import application_tables, resume_from_applications

        tables = application_tables(_with_short_retries(options.connection), options.dynamodb_endpoint_url)
        position = resume_from_applications(position, _open_streams(options.connection), tables)
    start = planner.initial_offset(position)
    # Only now it is known which records of the application are aggregates.
    shards = [shard for stream in start.streams.values() for shard in stream.shards.values()]
    if not options.deaggregate and any(isinstance(shard.cut, At) and shard.cut.skip for shard in shards):
        raise inside_aggregate_error(f"Option '{STARTING_POSITION.name}'", f"Option '{DEAGGREGATE.name}'")
    return start, position


def open_publisher(options: SourceOptions) -> LeasePublisher | None:
    """
    Return the publisher of progress, after checking or creating its table. None if progress is not published.

    Raises:
        OptionError: The table is not a lease table.
        ServiceError: Access is denied.
    """
    if options.lease_table is None:
        return None
    from kinesis_core.leases import LeasePublisher, open_table

    table = open_table(
        _with_short_retries(options.connection), options.lease_table, options.dynamodb_endpoint_url
    )
    publisher = LeasePublisher(table, _open_streams(options.connection))
    publisher.prepare()
    return publisher


def _with_short_retries(connection: Connection) -> Connection:
    """Return *connection* with as many retries but shorter waits: short failures are still retried."""
    retry = connection.retry
    short = evolve(
        retry,
        interval_s=min(retry.interval_s, CHECK_INTERVAL_S),
        max_interval_s=min(retry.max_interval_s, LONGEST_CHECK_INTERVAL_S),
        outage_timeout_s=min(retry.outage_timeout_s, CHECK_OUTAGE_S),
    )
    return evolve(connection, retry=short)


def _open_streams(connection: Connection) -> dict[str, StreamApi]:
    return {ref.label: stream_client(connection, ref) for ref in connection.streams}
