"""Records to read and to show: which ones, in what form, and the line of JSON that holds all of one."""

from kinesis_cli.records.choosing import ALL, Choice, RecordCounts, Wanted
from kinesis_cli.records.files import FileForm, form_of, open_file
from kinesis_cli.records.following import Span, record_lists
from kinesis_cli.records.lines import LineError, arrived_ms, decode_line
from kinesis_cli.records.templates import DEFAULT_TEMPLATE
from kinesis_cli.records.writers import open_writer

__all__ = [
    "ALL",
    "Choice",
    "DEFAULT_TEMPLATE",
    "FileForm",
    "LineError",
    "RecordCounts",
    "Span",
    "Wanted",
    "arrived_ms",
    "decode_line",
    "form_of",
    "open_file",
    "open_writer",
    "record_lists",
]
