"""Options: each is declared once, and parsed into types before any call to AWS."""

from kinesis_core.options.connection import ConnectionOptions, StreamRef
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
from kinesis_core.options.positions import EndingPosition, Latest, PerShard, StartingPosition
from kinesis_core.options.table import OptionTable, Values

__all__ = [
    "Alias",
    "BadValueError",
    "ConnectionOptions",
    "EndingPosition",
    "Latest",
    "Option",
    "OptionTable",
    "Origin",
    "Parser",
    "PerShard",
    "Scope",
    "StartingPosition",
    "StreamRef",
    "Unneeded",
    "Unsupported",
    "Values",
]
