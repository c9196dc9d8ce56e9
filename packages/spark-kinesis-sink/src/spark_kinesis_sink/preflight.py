"""The stream that is written to, as far as the driver cares: that it is there, and may be written to."""

from __future__ import annotations

from functools import lru_cache

from kinesis_core.aws import check_writing, dry_run_client, find_session, stream_client
from kinesis_core.logs import get_logger
from spark_kinesis_sink.options import SinkOptions

log = get_logger("spark_kinesis_sink")


def check_stream(options: SinkOptions) -> None:
    """
    See once in a process that the stream of *options* is there and may be written to; streams named by rows are not checked.

    That takes one DescribeStreamSummary, one ListShards and a dry run of PutRecords, and outside of AWS one of
    GetShardIterator.

    Spark makes a writer for each micro-batch, mostly in the same process, and another one to commit it.
    It may be in the middle of a query, after a pause of Spark's workers, so it is as patient as any call.

    Raises:
        ServiceError: The stream is missing, access is denied, or Kinesis cannot be reached.
    """
    _check(options, find_session(options.connection))


@lru_cache(maxsize=64)
def _check(options: SinkOptions, _session: object) -> None:
    for note in options.ignored:
        log.info("option.ignored", note=note)
    if options.stream is not None:
        stream_client(options.connection, options.stream).describe()
        dry_runs = dry_run_client(options.connection, options.stream)
        if dry_runs is not None:
            check_writing(dry_runs)
