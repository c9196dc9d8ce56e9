"""Where reading begins and ends, and what happens when records in between are gone."""

from __future__ import annotations

from kinesis_core.model import EndingPosition, Latest, StartingPosition
from kinesis_core.options import (
    WHERE,
    Option,
    Scope,
    awslabs,
    boolean,
    databricks,
    duration,
    ending_position,
    qubole,
    starting_position,
)

STARTING_POSITION = Option[StartingPosition](
    name="startingPosition",
    meaning=(
        "Where a new query begins; one with a checkpoint goes on from there. A time has Z or an offset: "
        "`AT_TIMESTAMP 2026-01-31T09:00:00Z`. As JSON: a position for each shard, "
        '`{"shardId-000000000000": "TRIM_HORIZON", "shardId-000000000001": {"AFTER": "4966..."}}`, or '
        '`{"at_timestamp": "01/31/2026 09:00:00 PST", "format": "MM/dd/yyyy HH:mm:ss ZZZ"}`, or '
        'for each of several streams, `{"orders": "LATEST", "returns": "TRIM_HORIZON"}`, or what the connectors of awslabs '
        "and qubole left in their checkpoints."
    ),
    parser=starting_position(),
    default=Latest(),
    default_text="`LATEST`; for a batch read `TRIM_HORIZON`",
    group=WHERE,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.startingPosition"),
        qubole("startingPosition"),
        databricks("initialPosition"),
    ),
)
ENDING_POSITION = Option[EndingPosition](
    name="endingPosition",
    meaning="Where a batch read ends, in the same forms. A streaming query does not use it.",
    parser=ending_position(),
    default=Latest(),
    default_text="`LATEST`: the newest record when the read is planned",
    group=WHERE,
    scope=Scope.SOURCE,
)
FAIL_ON_DATA_LOSS = Option[bool](
    name="failOnDataLoss",
    meaning=(
        "Whether a query stops when records left the stream unread, or may have. Else it logs `data.lost` and goes on with "
        "what is left. A batch that can no longer be read as a whole needs `false`, once."
    ),
    parser=boolean(),
    default=True,
    default_text="`true`",
    group=WHERE,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.failOnDataLoss"), qubole("failOnDataLoss")),
)
TRIM_HORIZON_MARGIN = Option[float](
    name="trimHorizonMargin",
    meaning=(
        "How long a query that begins at `TRIM_HORIZON`, or at an older time than the stream holds, has to read its first "
        "records: it passes over those that leave the stream sooner. With 0 it begins at the very oldest record, and its first "
        "batch fails if that record has left when the batch is read."
    ),
    parser=duration(0, 12 * 3600, "s"),
    default=300.0,
    default_text="5 minutes",
    group=WHERE,
    scope=Scope.SOURCE,
)

POSITION_OPTIONS = (
    STARTING_POSITION,
    ENDING_POSITION,
    FAIL_ON_DATA_LOSS,
    TRIM_HORIZON_MARGIN,
)
