"""The report as text: the busiest shards, their keys, and the advice."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kinesis_cli.advice.aws_cli import AwsCli
from kinesis_cli.advice.report import Report, busiest_keys, key_shares
from kinesis_cli.advice.words import explain
from kinesis_cli.output import WholeLine, WholeTable, show_count
from kinesis_cli.traffic import Sample, add_up, rate_cells, show_key, total_line
from kinesis_core.model import Shard

_SHARDS = 10
"""Shards that are shown."""
_LEAST_SHARE = 0.01
"""Of a key that is shown."""


def draw(report: Report, calls: AwsCli, keys: int) -> list[RenderableType]:
    """Return the parts of the text, one below the other, with *keys* keys of each hot shard."""
    parts: list[RenderableType] = [_head(report), Text(), WholeTable(_shard_table(report)), Text()]
    if (table := _key_table(report, keys)).row_count:
        parts += [WholeTable(table), Text()]
    explained = [explain(advice, calls) for advice in report.advice]
    for words, call in explained:
        parts.append(Text(f"* {words}"))
        if call:
            parts.append(WholeLine(f"  {call}", "bold"))
    count = sum(call is not None for _, call in explained)
    if count > 1:
        parts.append(Text("Make these calls one after the other, each when the stream is ACTIVE again."))
    if count and calls.role_arn:
        parts.append(Text(f"They need the credentials of the role {calls.role_arn}."))
    return parts


def _head(report: Report) -> Text:
    opened = len(report.shards)
    head = f"  {show_count(opened)} open shard{'s' * (opened != 1)}. "
    total = total_line(add_up(report.samples.values()), report.sample_ms)
    return Text.assemble((report.summary.name, "bold"), head, total)


def _shard_table(report: Report) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("SHARD", no_wrap=True)
    for name in ("RECORDS/S", "BYTES/S", "LOAD"):
        table.add_column(name, justify="right", no_wrap=True)
    for shard in report.shards[:_SHARDS]:
        table.add_row(shard.shard_id, *rate_cells(report.samples.get(shard.shard_id)))
    return table


def _with_keys(report: Report) -> list[tuple[Shard, Sample]]:
    """Return the shards whose keys are shown: the hot ones, else the busiest one."""
    hot = [(shard, sample) for shard, sample in report.sampled[:_SHARDS] if sample.is_hot]
    return hot or report.sampled[:1]


def _key_table(report: Report, keys: int) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("KEY")
    table.add_column("SHARD", no_wrap=True)
    for name in ("RECORDS", "BYTES"):
        table.add_column(name, justify="right", no_wrap=True)
    for shard, sample in _with_keys(report):
        for key in busiest_keys(sample, keys):
            shares = key_shares(key, sample)
            if max(shares) >= _LEAST_SHARE:
                table.add_row(Text(show_key(key.key)), shard.shard_id, *(f"{share:.0%}" for share in shares))
    return table
