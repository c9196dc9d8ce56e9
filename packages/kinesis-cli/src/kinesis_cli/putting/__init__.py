"""Lines of files and of the standard input become records of a stream. Lines that cannot be written are counted and named."""

from kinesis_cli.putting.keys import check_constants, parse_key
from kinesis_cli.putting.lines import LineRows
from kinesis_cli.putting.running import PutPace, put_rows
from kinesis_cli.putting.sources import check_files, make_form, read_rows, size_of
from kinesis_cli.putting.writing import PutCounts, PutsColumns, RowWriter, show_counts

__all__ = [
    "LineRows",
    "PutCounts",
    "PutPace",
    "PutsColumns",
    "RowWriter",
    "check_constants",
    "check_files",
    "make_form",
    "parse_key",
    "put_rows",
    "read_rows",
    "show_counts",
    "size_of",
]
