"""The options of how a task fetches and unpacks records."""

from __future__ import annotations

from kinesis_core.model import SHARD_RATE_BYTES
from kinesis_core.options import (
    Alternatives,
    Option,
    Scope,
    boolean,
    duration,
    integer,
)
from kinesis_core.reading import ReadSettings
from spark_kinesis_source.options.batches import HOW_MUCH
from spark_kinesis_source.options.rates import rate, show_rate

_READ = ReadSettings()
_LONGEST_PERIOD_S = 60

MAX_RECORDS_PER_FETCH = Option[int](
    name="maxRecordsPerFetch",
    meaning="How many records one GetRecords call returns at most.",
    parser=integer(1, 10_000, "records"),
    default=_READ.max_records_per_fetch,
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
MIN_FETCH_PERIOD = Option[float](
    name="minFetchPeriod",
    meaning=(
        "The minimum time between two GetRecords calls on a shard. Kinesis allows 5 calls a second on a shard, for all its "
        "consumers together."
    ),
    parser=duration(0, _LONGEST_PERIOD_S, "ms"),
    default=_READ.min_fetch_period_s,
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
ADD_IDLE_TIME = Option[bool](
    name="addIdleTimeBetweenReads",
    meaning=(
        "Whether `idleTimeBetweenReadsInMs` replaces `minFetchPeriod`. It exists for configurations of qubole's connector; "
        "otherwise set `minFetchPeriod`."
    ),
    parser=boolean(),
    default=False,
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
IDLE_TIME = Option[float](
    name="idleTimeBetweenReadsInMs",
    meaning="The minimum time between two GetRecords calls on a shard if `addIdleTimeBetweenReads` is `true`.",
    parser=duration(0, _LONGEST_PERIOD_S, "ms"),
    default=1.0,
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
MAX_FETCH_RATE = Option[float](
    name="maxFetchRate",
    meaning=(
        "How many MiB a second a task reads from a shard at most. A shard delivers "
        f"{show_rate(SHARD_RATE_BYTES)} to all its polling consumers together."
    ),
    parser=rate(),
    default=_READ.max_fetch_rate_bytes,
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)
DEAGGREGATE = Option[bool](
    name="deaggregate",
    meaning=(
        "Whether an aggregate of the Kinesis Producer Library (KPL) becomes one row per user record. With `false` it becomes "
        "one row."
    ),
    parser=boolean(),
    default=True,
    group=HOW_MUCH,
    scope=Scope.SOURCE,
)

PERIOD_ALTERNATIVES: Alternatives = ((MIN_FETCH_PERIOD,), (ADD_IDLE_TIME, IDLE_TIME))
FETCHING_OPTIONS = (
    MAX_RECORDS_PER_FETCH,
    MIN_FETCH_PERIOD,
    ADD_IDLE_TIME,
    IDLE_TIME,
    MAX_FETCH_RATE,
    DEAGGREGATE,
)
