"""The options of starting and ending positions, and of data loss."""

from __future__ import annotations

from kinesis_core.model import Latest, TrimHorizon
from kinesis_core.options import WHERE, Group, boolean, duration, ending_position, starting_position
from kinesis_core.planning import PlanSettings

STREAMING_START = Latest()
"""Where a streaming query starts unless the user sets a position."""
BATCH_START = TrimHorizon()
"""The same for a batch read, which would always be empty from LATEST."""
_PLAN = PlanSettings()
POSITIONS = Group(WHERE.title)
_START = starting_position()

STARTING_POSITION = POSITIONS.option(
    name="startingPosition",
    meaning=(
        "Where a new query starts. A query with a checkpoint continues from its checkpoint. A time needs Z or an offset: "
        "`2026-01-31T09:00:00Z`, with or without `AT_TIMESTAMP` before it. A duration counts back from now: `3h`, `3h ago`, "
        "`1h 30m` or `P3DT12H`. It becomes a time when the query starts for the first time, or when Spark plans the batch read. So a "
        "restart does not move it. Now is the time of the driver. If records since the start have expired, or may have "
        "expired, `failOnDataLoss` decides. JSON gives a position for each shard: "
        '`{"shardId-000000000000": "TRIM_HORIZON", "shardId-000000000001": {"AFTER": "4966..."}}`; a time in a format of '
        'Java: `{"at_timestamp": "01/31/2026 09:00:00 PST", "format": "MM/dd/yyyy HH:mm:ss ZZZ"}`; or a position for each '
        'of several streams: `{"orders": "LATEST", "returns": "TRIM_HORIZON"}`. `{"kclApplication": "billing"}` continues '
        "where a KCL application stopped. A receiver of Spark's DStreams is a KCL application, too. Its lease table is read when "
        'the query starts for the first time. `"region"` in this JSON is the region of the table. It can have positions of shards '
        "as well. The checkpoint files of the awslabs and qubole connectors are also accepted."
    ),
    parser=_START,
    default_text=f"{_START.show(STREAMING_START)} for a streaming query, {_START.show(BATCH_START)} for a batch read",
)
ENDING_POSITION = POSITIONS.option(
    name="endingPosition",
    meaning=(
        "Where a batch read ends, in the forms of `startingPosition`. The end must not be before the start, nor in the future. "
        "`LATEST` is the newest record at the time when Spark plans the read. A streaming query ignores this option."
    ),
    parser=ending_position(),
    default=Latest(),
)
FILTER_PUSHDOWN = POSITIONS.option(
    name="filterPushdown",
    meaning=(
        "Whether a batch read skips records that the conditions of its query exclude: conditions on "
        "`approximateArrivalTimestamp`, `shardId` and `streamName`. It needs Spark 4.1 or later, and "
        "`spark.sql.python.filterPushdown.enabled=true`. Set it only for a frame that one query reads once: Spark 4.1 to 4.3 "
        "keeps the conditions for later queries over the same frame, which then lack rows without an error. A streaming query "
        "ignores this option."
    ),
    parser=boolean(),
    default=False,
)
FAIL_ON_DATA_LOSS = POSITIONS.option(
    name="failOnDataLoss",
    meaning=(
        "Whether a query fails if records expired, or may have expired, before it read them. With `false` "
        "it logs "
        "`data.lost` and continues with the remaining records. A start at a time that has expired is such a loss: with `false` "
        "the query logs `start.expired` and reads the remaining records. To restart a query whose last micro-batch is no longer "
        "complete in the stream, set `false` once."
    ),
    parser=boolean(),
    default=_PLAN.fail_on_data_loss,
)
TRIM_HORIZON_MARGIN = POSITIONS.option(
    name="trimHorizonMargin",
    meaning=(
        "A query or batch read that starts at `TRIM_HORIZON` skips records that expire within this time. So "
        "it can read its first records before they expire. With 0 it starts at the oldest record, and its "
        "first "
        "micro-batch fails if that record expires before it is read. A start at a time skips no record."
    ),
    parser=duration(0, 12 * 3600, "s"),
    default=_PLAN.trim_horizon_margin_s,
)
