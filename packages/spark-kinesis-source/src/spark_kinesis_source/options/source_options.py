"""The options of `spark.readStream.format("kinesis")` and `spark.read.format("kinesis")`, as checked values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from kinesis_core.aws import Connection
from kinesis_core.errors import OptionError
from kinesis_core.model import (
    EndingPosition,
    StartingPosition,
    begins_inside_aggregates,
    names_applications,
    position_in,
)
from kinesis_core.options import (
    COMMON_ALTERNATIVES,
    COMMON_OPTIONS,
    COMMON_UNSUPPORTED,
    FREEZE_WORKER_HEAP,
    IGNORED_BY_SOURCE,
    KAFKA_SOURCE_HINTS,
    SPARK_OPTIONS,
    OptionTable,
    Values,
    ignored_region,
    read_connection,
)
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.reading import ReadSettings
from kinesis_credentials.advice import Setting
from spark_kinesis_source.options import batches, fan_out, positions, publishing
from spark_kinesis_source.options.fan_out import FanOutOptions, ignored_fan_out_options
from spark_kinesis_source.options.publishing import read_lease_table

SOURCE_OPTIONS = OptionTable(
    options=COMMON_OPTIONS
    + positions.POSITIONS.options
    + batches.HOW_MUCH.options
    + fan_out.FAN_OUT.options
    + publishing.PUBLISHING.options,
    unsupported=COMMON_UNSUPPORTED,
    ignored_options=IGNORED_BY_SOURCE,
    let_through=SPARK_OPTIONS,
    hints=KAFKA_SOURCE_HINTS,
    alternatives=(
        *COMMON_ALTERNATIVES,
        batches.TASK_ALTERNATIVES,
        batches.PERIOD_ALTERNATIVES,
        fan_out.CONSUMER_ALTERNATIVES,
    ),
)

_LIMITS = (
    batches.MAX_RECORDS_PER_SHARD,
    batches.MAX_BYTES_PER_SHARD,
    batches.MAX_RECORDS_PER_TRIGGER,
    batches.MAX_BYTES_PER_BATCH,
)


@frozen
class SourceOptions:
    """All options of a source. It pickles, and its repr shows no secret."""

    connection: Connection
    starting_position: StartingPosition
    """Where a streaming query starts."""
    batch_starting_position: StartingPosition
    """Where a batch read starts."""
    ending_position: EndingPosition
    filter_pushdown: bool
    """Whether a batch read is narrowed by the conditions of its query."""
    plan: PlanSettings
    planning_threads: int
    has_explicit_limit: bool
    """Whether the user set a limit of micro-batches."""
    min_records_per_trigger: int
    max_trigger_delay_s: float
    shards_per_task: int
    """Has no effect if *max_partitions* is given."""
    max_partitions: int | None
    read: ReadSettings
    deaggregate: bool
    freeze_worker_heap: bool
    fan_out: FanOutOptions | None
    """None if the streams are polled."""
    wake: FanOutOptions | None
    """The consumers that tell the driver of new records. None if it only looks."""
    lease_table: str | None
    """The table that progress is published to. None if it is not."""
    dynamodb_endpoint_url: str | None
    """Where that table is, and the one of a KCL application. None: botocore's endpoint."""
    ignored: tuple[str, ...] = field(default=(), eq=False)
    """A line for the log for each option that has no effect here, or whose value counts as another."""

    @staticmethod
    def parse(given: Mapping[str, object]) -> SourceOptions:
        """
        Return the values of *given*, the options as Spark passes them on. It makes no network call.

        Raises:
            OptionError: A name is unknown or not supported, a value is outside its domain, options contradict each
                other, or the stream or region is missing.
        """
        values = SOURCE_OPTIONS.read(given)
        connection = read_connection(values, endpoint_goes_first=True)
        start = values[positions.STARTING_POSITION]
        streaming_start = positions.STREAMING_START if start is None else start
        _check_together(values, streaming_start, connection)
        min_fetch_period_s, ignored_period = _read_fetch_period(values)
        reading = FanOutOptions.from_values(values, connection)
        lease_table, ignored_lease_options = read_lease_table(
            values, connection, is_read=names_applications(streaming_start)
        )
        return SourceOptions(
            connection=connection,
            starting_position=streaming_start,
            batch_starting_position=positions.BATCH_START if start is None else start,
            ending_position=values[positions.ENDING_POSITION],
            filter_pushdown=values[positions.FILTER_PUSHDOWN],
            plan=_read_plan(values, min_fetch_period_s),
            planning_threads=values[batches.PLANNING_THREADS],
            has_explicit_limit=any(values.is_given(limit) for limit in _LIMITS),
            min_records_per_trigger=values[batches.MIN_RECORDS_PER_TRIGGER],
            max_trigger_delay_s=values[batches.MAX_TRIGGER_DELAY],
            shards_per_task=values[batches.SHARDS_PER_TASK],
            max_partitions=values[batches.MAX_PARTITIONS],
            read=ReadSettings(
                values[batches.MAX_RECORDS_PER_FETCH],
                min_fetch_period_s,
                values[batches.MAX_FETCH_RATE],
                max_buffered_bytes=values[batches.MAX_BUFFERED_BYTES],
                fail_on_data_loss=values[positions.FAIL_ON_DATA_LOSS],
            ),
            deaggregate=values[batches.DEAGGREGATE],
            freeze_worker_heap=values[FREEZE_WORKER_HEAP],
            fan_out=reading,
            wake=FanOutOptions.to_wake(values, connection, reading),
            lease_table=lease_table,
            dynamodb_endpoint_url=values[publishing.DYNAMODB_ENDPOINT_URL],
            ignored=values.ignored
            + ignored_region(values, connection)
            + ignored_period
            + ignored_fan_out_options(values)
            + ignored_lease_options,
        )

    def without_waking(self) -> SourceOptions:
        """Return the options for micro-batches without a limit in Spark 4.0 and 4.1. Each one looks at every shard, and waits for that."""
        if self.wake is None:
            return self
        reason = (
            f"Option '{fan_out.WAKE_CONSUMER.name}' has no effect here: Spark 4.0 and 4.1 need a limit for it, such as "
            f"'{batches.MAX_RECORDS_PER_SHARD.name}'."
        )
        return evolve(self, wake=None, ignored=(*self.ignored, reason))

    def for_batch_read(self) -> SourceOptions:
        """Return the options of spark.read. Its tasks always poll: one read does not justify a registered consumer."""
        options = evolve(self, plan=evolve(self.plan, inline_records=False))
        if self.fan_out is None and self.wake is None:
            return options
        reason = "Enhanced fan-out has no effect here: a batch read polls."
        return evolve(options, fan_out=None, wake=None, ignored=(*self.ignored, reason))


def _read_plan(values: Values, min_fetch_period_s: float) -> PlanSettings:
    # A plan has no budget where micro-batches wait for records: these are counted in all shards.
    waits = values[batches.MIN_RECORDS_PER_TRIGGER] > 1
    return PlanSettings(
        limits=Limits(values[batches.MAX_RECORDS_PER_SHARD], values[batches.MAX_BYTES_PER_SHARD]),
        batch_limits=Limits(values[batches.MAX_RECORDS_PER_TRIGGER], values[batches.MAX_BYTES_PER_BATCH]),
        min_fetch_period_s=min_fetch_period_s,
        quota_share=values[batches.QUOTA_SHARE],
        inline_records=values[batches.INLINE_RECORDS],
        shard_discovery_interval_s=values[batches.SHARD_DISCOVERY_INTERVAL],
        fail_on_data_loss=values[positions.FAIL_ON_DATA_LOSS],
        trim_horizon_margin_s=values[positions.TRIM_HORIZON_MARGIN],
        max_shard_skew_s=values[batches.MAX_SHARD_SKEW],
        plan_budget_s=None if waits else values[batches.PLAN_BUDGET],
    )


def _check_together(values: Values, start: StartingPosition, connection: Connection) -> None:
    """Check that options do not contradict each other, and that positions match the streams."""
    tasks = [values.label(option) for option, *_ in batches.TASK_ALTERNATIVES if values.is_given(option)]
    if len(tasks) > 1:
        raise OptionError(f"{tasks[0]} and {tasks[1]} cannot be combined. Keep one of them.")
    least, most = values[batches.MIN_RECORDS_PER_TRIGGER], values[batches.MAX_RECORDS_PER_TRIGGER]
    if most is not None and least > most:
        raise OptionError(
            f"{values.label(batches.MIN_RECORDS_PER_TRIGGER)} ({least}) is more than {values.label(batches.MAX_RECORDS_PER_TRIGGER)} ({most}): "
            "micro-batches would wait for records that they cannot contain. Lower the first or raise the second."
        )
    streams = [ref.label for ref in connection.streams]
    for option, position in (
        (positions.STARTING_POSITION, start),
        (positions.ENDING_POSITION, values[positions.ENDING_POSITION]),
    ):
        for stream in streams:
            _check_position(stream, streams, position, values.label(option))
    if not values[batches.DEAGGREGATE] and begins_inside_aggregates(start):
        raise inside_aggregate_error(
            values.label(positions.STARTING_POSITION), values.label(batches.DEAGGREGATE)
        )


def _check_position(stream: str, streams: Sequence[str], position: StartingPosition, label: str) -> None:
    """Check *position*, the value of an option that the user knows as *label*."""
    try:
        position_in(stream, streams, position, Setting.START)
    except OptionError as error:
        raise OptionError(f"{label} {error.what}") from error


def inside_aggregate_error(start: str, deaggregate: str) -> OptionError:
    """Return the error of a start inside an aggregate by a query that does not unpack it. Both options are given by label."""
    return OptionError(
        f"{start} starts inside an aggregate, after user records that were already read. "
        f"{deaggregate} must be true to read the rest of the aggregate."
    )


def _read_fetch_period(values: Values) -> tuple[float, tuple[str, ...]]:
    """Return the minimum time between two fetches, and a line for the log for each option without effect."""
    if not values[batches.ADD_IDLE_TIME]:
        unused = values.is_given(batches.IDLE_TIME)
        reason = f"has no effect here: '{batches.ADD_IDLE_TIME.name}' is not true."
        return values[batches.MIN_FETCH_PERIOD], (
            f"{values.label(batches.IDLE_TIME)} {reason}",
        ) if unused else ()
    period_s = values[batches.IDLE_TIME]
    if values.is_given(batches.MIN_FETCH_PERIOD) and values[batches.MIN_FETCH_PERIOD] != period_s:
        raise OptionError(
            f"{values.label(batches.MIN_FETCH_PERIOD)} and {values.label(batches.ADD_IDLE_TIME)} set the same thing to different "
            f"values ({values[batches.MIN_FETCH_PERIOD]:g} s and {period_s:g} s). Keep one of them."
        )
    return period_s, ()
