"""How a task fetches records, and what it makes of them."""

from __future__ import annotations

from kinesis_core.options import (
    BYTES_PER_SHARD_AND_SECOND,
    Option,
    Scope,
    awslabs,
    boolean,
    clamped_duration,
    databricks,
    duration,
    integer,
    number,
    qubole,
)
from spark_kinesis_source.options.batches import HOW_MUCH

_MEBIBYTE = 1024 * 1024
_LONGEST_PERIOD_S = 60

MAX_RECORDS_PER_FETCH = Option[int](
    name="maxRecordsPerFetch",
    meaning="How many records one GetRecords call asks for.",
    parser=integer(1, 10_000, "records"),
    default=10_000,
    default_text="10000",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.getRecords.numberOfRecordsPerFetch"),
        qubole("kinesis.executor.maxRecordPerRead"),
        databricks("maxRecordsPerFetch"),
    ),
)
MIN_FETCH_PERIOD = Option[float](
    name="minFetchPeriod",
    meaning="The least time between two GetRecords calls on a shard, which allows 5 a second to all its consumers.",
    parser=duration(0, _LONGEST_PERIOD_S, "ms"),
    default=0.2,
    default_text="200 ms",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.getRecords.fetchIntervalMs", clamped_duration(0, _LONGEST_PERIOD_S, "ms")),
        databricks("minFetchPeriod"),
    ),
)
ADD_IDLE_TIME = Option[bool](
    name="addIdleTimeBetweenReads",
    meaning="Whether `idleTimeBetweenReadsInMs` counts; `minFetchPeriod` says the same in one.",
    parser=boolean(),
    default=False,
    default_text="`false`",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(qubole("kinesis.executor.addIdleTimeBetweenReads"),),
)
IDLE_TIME = Option[float](
    name="idleTimeBetweenReadsInMs",
    meaning="The `minFetchPeriod` when `addIdleTimeBetweenReads` is true.",
    parser=duration(0, _LONGEST_PERIOD_S, "ms"),
    default=1.0,
    default_text="1000 ms",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(qubole("kinesis.executor.idleTimeBetweenReadsInMs"),),
)
MAX_FETCH_RATE = Option[float](
    name="maxFetchRate",
    meaning="How many MiB a second are fetched from a shard, which delivers 2 to all its polling consumers together.",
    parser=number(0.01, 1000, "MiB/s", factor=_MEBIBYTE),
    default=float(BYTES_PER_SHARD_AND_SECOND),
    default_text="2.0",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
    aliases=(databricks("maxFetchRate"),),
)
DEAGGREGATE = Option[bool](
    name="deaggregate",
    meaning="Whether records that the KPL aggregated become the user records in them.",
    parser=boolean(),
    default=True,
    default_text="`true`",
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)

FETCHING_OPTIONS = (
    MAX_RECORDS_PER_FETCH,
    MIN_FETCH_PERIOD,
    ADD_IDLE_TIME,
    IDLE_TIME,
    MAX_FETCH_RATE,
    DEAGGREGATE,
)
