"""Options: each is declared once, and parsed into types before any call to AWS."""

from kinesis_core.model.starting_positions import (
    Checkpoint,
    EndingPosition,
    Latest,
    PerShard,
    PerStream,
    StartingPosition,
    begins_inside_aggregates,
    position_in,
)
from kinesis_core.options.connection import read_connection, region_notes
from kinesis_core.options.option import (
    Alias,
    BadValueError,
    Option,
    Origin,
    Parser,
    Scope,
    Unneeded,
    Unsupported,
)
from kinesis_core.options.table import OptionTable, Values

__all__ = [
    "Alias",
    "BadValueError",
    "Checkpoint",
    "EndingPosition",
    "Latest",
    "Option",
    "OptionTable",
    "Origin",
    "Parser",
    "PerShard",
    "PerStream",
    "Scope",
    "StartingPosition",
    "Unneeded",
    "Unsupported",
    "Values",
    "begins_inside_aggregates",
    "position_in",
    "read_connection",
    "region_notes",
]
