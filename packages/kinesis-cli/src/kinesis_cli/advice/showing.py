"""The report of `kinesis advise`: samples of all open shards and the advice, as text and for scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import asdict, frozen
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kinesis_cli.advice.judge import Recommendation, advise
from kinesis_cli.advice.words import AwsCli, explain
from kinesis_cli.output import WholeLine, WholeTable, new_table, show_number
from kinesis_cli.traffic import (
    RATES,
    Sample,
    Window,
    add_up,
    bounds_for,
    rate_cells,
    rates_json,
    sample_shards,
    show_key,
    total_line,
)
from kinesis_core.aws import StreamApi
from kinesis_core.model import Shard, StreamSummary

MAX_BYTES = 8 * 1024 * 1024
"""Of one shard."""


@frozen
class Report:
    """The open shards of a stream, the busiest first, with their samples."""

    summary: StreamSummary
    shards: tuple[Shard, ...]
    sample_ms: int
    samples: Mapping[str, Sample]
    advice: tuple[Recommendation, ...]

    @property
    def sampled(self) -> list[tuple[Shard, Sample]]:
        return [
            (shard, self.samples[shard.shard_id]) for shard in self.shards if shard.shard_id in self.samples
        ]


def examine(api: StreamApi, sample_ms: int) -> Report:
    """Return the report on the stream behind *api*, from a sample of its latest *sample_ms* milliseconds."""
    summary = api.describe()
    opened = [shard for shard in api.list_shards() if shard.is_open]
    window = Window.of_last(sample_ms, api, summary.created_ms)
    samples = sample_shards(api, opened, window, bounds_for(len(opened), MAX_BYTES), by_key=True)
    busiest = sorted(
        opened,
        key=lambda shard: (
            -samples[shard.shard_id].load if shard.shard_id in samples else 0,
            shard.hash_start,
        ),
    )
    return Report(summary, tuple(busiest), sample_ms, samples, tuple(advise(summary, opened, samples)))


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
    head = f"  {show_number(len(report.shards), 'open shard')}. "
    total = total_line(add_up(report.samples.values()), report.sample_ms)
    return Text.assemble((report.summary.name, "bold"), head, total)


def _shard_table(report: Report) -> Table:
    table = new_table("SHARD", *RATES, right=RATES)
    for shard in report.shards[:_SHARDS]:
        table.add_row(shard.shard_id, *rate_cells(report.samples.get(shard.shard_id)))
    return table


def _with_keys(report: Report) -> list[tuple[Shard, Sample]]:
    """Return the shards whose keys are shown: the hot ones, else the busiest one."""
    hot = [(shard, sample) for shard, sample in report.sampled[:_SHARDS] if sample.is_hot]
    return hot or report.sampled[:1]


def _key_table(report: Report, keys: int) -> Table:
    table = new_table("KEY", "SHARD", "RECORDS", "BYTES", right={"RECORDS", "BYTES"}, wrapped={"KEY"})
    for shard, sample in _with_keys(report):
        for key, *shares in _busiest_keys(sample, keys):
            if max(shares) >= _LEAST_SHARE:
                table.add_row(Text(show_key(key)), shard.shard_id, *(f"{share:.0%}" for share in shares))
    return table


def _busiest_keys(sample: Sample, most: int) -> Iterator[tuple[str, float, float]]:
    """Yield the keys with the most traffic, each with the shares that it has of the records and of the bytes of its shard."""
    size_bytes = max(1, sample.size_bytes, sum(one.size_bytes for one in sample.keys))
    for key in sorted(sample.keys, key=lambda key: (-sample.weigh(key), key.key))[:most]:
        yield key.key, key.records / max(1, sample.user_records), key.size_bytes / size_bytes


_NAMES = {"shard_id": "shardId", "adjacent_id": "adjacentShardId", "key": "key"}
"""Facts of an advice that are members of its JSON."""


def report_json(report: Report, calls: AwsCli, keys: int) -> dict[str, Any]:
    """Return the report as a value that JSON can show, with *keys* keys of each shard."""
    return {
        "stream": report.summary.name,
        "mode": report.summary.mode,
        "sampleMs": report.sample_ms,
        "shards": [
            {"shardId": shard.shard_id, **rates_json(sample), "keys": _keys_json(sample, keys)}
            for shard, sample in report.sampled
        ],
        "advice": [_advice_json(advice, calls) for advice in report.advice],
    }


def _keys_json(sample: Sample, keys: int) -> list[dict[str, Any]]:
    return [
        {"key": key, "recordsShare": round(records, 4), "bytesShare": round(size, 4)}
        for key, records, size in _busiest_keys(sample, keys)
    ]


def _advice_json(advice: Recommendation, calls: AwsCli) -> dict[str, Any]:
    words, call = explain(advice, calls)
    facts = {_NAMES[name]: value for name, value in asdict(advice).items() if name in _NAMES}
    return {"kind": type(advice).__name__, **facts, "text": words, "call": call}
