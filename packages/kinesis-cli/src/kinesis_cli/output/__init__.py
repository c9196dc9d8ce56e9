"""What commands write: results to the standard output, everything else to the standard error."""

from kinesis_cli.output.console import (
    ProgressLine,
    WholeLine,
    WholeTable,
    confirm,
    has_colours,
    is_terminal,
    new_table,
    note,
    show,
    show_json,
)
from kinesis_cli.output.figures import (
    show_ago,
    show_bytes,
    show_count,
    show_duration,
    show_number,
    show_position,
    show_time,
)
from kinesis_cli.output.readers import end_with_reader

__all__ = [
    "ProgressLine",
    "WholeLine",
    "WholeTable",
    "confirm",
    "end_with_reader",
    "has_colours",
    "is_terminal",
    "new_table",
    "note",
    "show",
    "show_ago",
    "show_bytes",
    "show_count",
    "show_duration",
    "show_json",
    "show_number",
    "show_position",
    "show_time",
]
