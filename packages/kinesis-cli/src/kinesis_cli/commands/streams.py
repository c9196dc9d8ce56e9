"""The command `kinesis streams`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.output import (
    WholeTable,
    new_table,
    note,
    show,
    show_count,
    show_json,
    show_number,
    show_time,
)

if TYPE_CHECKING:
    from rich.table import Table

    from kinesis_cli.stream_lines import StreamLine


def streams(
    *patterns: str,
    output: Annotated[Literal["text", "json", "names"], Parameter(alias="-o")] = "text",
    connect: Connect = DEFAULT,
) -> None:
    """
    List the streams of the account and region.

    Parameters
    ----------
    patterns
        Only streams of these names. `*` stands for any characters, `?` for one: `'orders-*'`.
    output
        A table, an object of JSON for each stream, or `names` alone, which need no permission to describe streams.
    """
    from kinesis_core.aws import list_streams

    connection = connect.to_account()
    names = [name for name in list_streams(connection) if _matches(name, patterns)]
    if not names:
        wanted = f" named {' or '.join(patterns)}" if patterns else ""
        note(f"There are no streams{wanted} in {connection.region}.")
    elif output == "names":
        show("\n".join(names))
    else:
        _show(_describe(names, connect), output)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _describe(names: Sequence[str], connect: Connect) -> list[StreamLine]:
    from kinesis_cli.parallel import call_each
    from kinesis_cli.stream_lines import DESCRIBED_AT_ONCE, describe_line

    described = call_each(partial(describe_line, connect.to), names, DESCRIBED_AT_ONCE)
    return [line for _, line in sorted(described, key=lambda each: each[0]) if line is not None]


def _show(lines: Sequence[StreamLine], output: str) -> None:
    if output == "json":
        for line in lines:
            show_json(_json(line))
    else:
        show(WholeTable(_table(lines)))
    if hidden := sum(bool(line.problem) for line in lines):
        note(
            f"{show_number(hidden, 'stream')} could not be described: see kinesis:DescribeStreamSummary in the policy."
        )


def _table(lines: Sequence[StreamLine]) -> Table:
    """Return a table with a line for each stream."""
    from kinesis_cli.traffic import show_mode

    table = new_table(
        "STREAM",
        "STATUS",
        "MODE",
        "SHARDS",
        "CONSUMERS",
        "RETENTION",
        right={"SHARDS", "CONSUMERS", "RETENTION"},
    )
    for line in lines:
        if (summary := line.summary) is None:
            table.add_row(line.name, f"[red]{line.problem}[/]", "-", "-", "-", "-")
            continue
        status = summary.status if summary.status == "ACTIVE" else f"[yellow]{summary.status}[/]"
        counts = show_count(summary.open_shards), show_count(summary.consumers)
        table.add_row(line.name, status, show_mode(summary), *counts, f"{summary.retention_hours} h")
    return table


def _json(line: StreamLine) -> dict[str, Any]:
    """Return the object for scripts. A stream that could not be described has its name and AWS's code."""
    if (summary := line.summary) is None:
        return {"stream": line.name, "problem": line.problem}
    return {
        "stream": summary.name,
        "streamArn": summary.arn,
        "status": summary.status,
        "mode": summary.mode,
        "openShards": summary.open_shards,
        "consumers": summary.consumers,
        "retentionHours": summary.retention_hours,
        "isEncrypted": summary.is_encrypted,
        "created": show_time(summary.created_ms),
    }
