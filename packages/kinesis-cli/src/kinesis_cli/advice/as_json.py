"""The report for scripts."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from kinesis_cli.advice.aws_cli import AwsCli
from kinesis_cli.advice.kinds import Advice
from kinesis_cli.advice.report import Report, busiest_keys, key_shares
from kinesis_cli.advice.words import explain
from kinesis_cli.traffic import Sample, rates_json

_NAMES = {"shard_id": "shardId", "adjacent_id": "adjacentShardId", "key": "key"}
"""Facts of an advice that are members of its JSON."""


def report_json(report: Report, calls: AwsCli, keys: int) -> dict[str, Any]:
    """Return the report as a value that JSON can show, with *keys* keys of each shard."""
    return {
        "stream": report.summary.name,
        "mode": "ON_DEMAND" if report.summary.is_on_demand else "PROVISIONED",
        "sampleMs": report.sample_ms,
        "shards": [
            {"shardId": shard.shard_id, **rates_json(sample), "keys": _keys_json(sample, keys)}
            for shard, sample in report.sampled
        ],
        "advice": [_advice_json(advice, calls) for advice in report.advice],
    }


def _keys_json(sample: Sample, keys: int) -> list[dict[str, Any]]:
    found = [(key, key_shares(key, sample)) for key in busiest_keys(sample, keys)]
    return [
        {"key": key.key, "recordsShare": round(records, 4), "bytesShare": round(size, 4)}
        for key, (records, size) in found
    ]


def _advice_json(advice: Advice, calls: AwsCli) -> dict[str, Any]:
    words, call = explain(advice, calls)
    facts = {_NAMES[name]: value for name, value in asdict(advice).items() if name in _NAMES}
    return {"kind": type(advice).__name__, **facts, "text": words, "call": call}
