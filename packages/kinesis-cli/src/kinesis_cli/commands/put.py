"""The command `kinesis put`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import StreamName
from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.ending import Status, UsageError
from kinesis_cli.output import ProgressLine, note
from kinesis_cli.stopping import Stopping


def put(
    stream: StreamName,
    /,
    *files: str,
    key: Annotated[str | None, Parameter(alias="-k")] = None,
    explicit_hash_key: str | None = None,
    file: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    aggregate: bool = True,
    null: Annotated[bool, Parameter(alias="-0", negative="")] = False,
    whole: Annotated[bool, Parameter(negative="")] = False,
    keep_empty: Annotated[bool, Parameter(negative="")] = False,
    rate: float | None = None,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> Status | None:
    """
    Write lines as records.

    A line is sent within about a second after it was read.

    Ctrl-C stops reading; what was read before is written. A second Ctrl-C ends the command at once.

    Parameters
    ----------
    stream
        The stream: its name or ARN.
    files
        Files with a record in each line. Without them the standard input is read.
    key
        The partition key: a field of JSON records as a path, such as `.customer` or `.items[0].id`, or a constant. `=TEXT` is the
        constant TEXT, even if TEXT begins with a dot. Default: random keys.
    explicit_hash_key
        The explicit hash key, a decimal number, in the same way. It chooses the shard instead of the partition key.
    file
        A file to read, as FILES are. May be repeated.
    aggregate
        Pack many records into one record of Kinesis, as the Kinesis Producer Library does. Consumers must unpack them.
    null
        A record ends with a NUL instead of a newline.
    whole
        Each file is one record.
    keep_empty
        Write empty lines as empty records. Without it they are skipped.
    rate
        Maximum number of records written a second.
    output
        A line on the standard error with the counts, or an object of JSON on the standard output.
    """
    from kinesis_cli.putting import (
        PutPace,
        RowWriter,
        check_constants,
        check_files,
        make_form,
        parse_key,
        put_rows,
        read_rows,
        size_of,
    )
    from kinesis_core import ProducerSettings

    form = make_form(null=null, whole=whole, keep_empty=keep_empty)
    if rate is not None and not 0.001 <= rate <= 1e9:
        raise UsageError(f"--rate is {rate:g}. Use 0.001 to 1000000000 records/s.")
    pace = None if rate is None else PutPace(rate)
    key_rule = None if key is None else parse_key(key, "--key")
    hash_rule = None if explicit_hash_key is None else parse_key(explicit_hash_key, "--explicit-hash-key")
    check_constants(key_rule, hash_rule)
    files = (*files, *file)
    check_files(files)
    producer = connect.open_producer(stream, ProducerSettings(aggregation_enabled=aggregate))
    is_typed = not files and sys.stdin.isatty()
    writer = RowWriter(producer, note, key_rule, hash_rule)
    with Stopping() as stopping, ProgressLine(size_of(files), is_wanted=not is_typed) as progress:
        if is_typed:
            note("Each line that you type is a record. Ctrl-D ends.")
        rows = read_rows(files, form, stopping)
        as_json = output == "json"
        return put_rows(rows, writer, producer, progress, stopping, pace, tells_packing=True, as_json=as_json)
