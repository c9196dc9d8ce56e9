"""Checks in the driver, before tasks start: the stream exists, and the credentials allow writing to it."""

from __future__ import annotations

from functools import lru_cache

from kinesis_core.aws import check_writing, dry_run_client, find_session, stream_client
from kinesis_core.errors import ServiceError
from kinesis_credentials.logs import get_logger
from spark_kinesis_sink.options import SinkOptions

log = get_logger("spark_kinesis_sink")

_ONLY_EXECUTORS = "The driver checks this before a query starts. If only the executors' credentials allow it, set checkPermissions=false."


def check_stream(options: SinkOptions) -> None:
    """
    Check, once in a process, that the stream of *options* exists and may be written to.

    Streams that rows name are not checked. A check takes one DescribeStreamSummary, one ListShards and a dry run of
    PutRecords; outside AWS also a dry run of GetShardIterator. The result is cached, because Spark creates a writer
    for each micro-batch, mostly in the same process, and another one to commit it. Calls are retried as always: the
    check may run in the middle of a query, after a pause of Spark's workers.

    Raises:
        ServiceError: The stream is missing, access is denied, or Kinesis cannot be reached.
    """
    _check(options, find_session(options.connection))


@lru_cache(maxsize=64)
def _check(options: SinkOptions, _session: object) -> None:
    for reason in options.ignored:
        log.info("option.ignored", reason=reason)
    if options.stream is not None:
        stream_client(options.connection, options.stream).describe()
        dry_runs = dry_run_client(options.connection, options.stream)
        if dry_runs is not None:
            try:
                check_writing(dry_runs)
            except ServiceError as error:
                error.advice += (_ONLY_EXECUTORS,)
                raise
