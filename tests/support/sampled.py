"""Streams and samples as the rooms `traffic` and `advice` see them, with short names for shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kinesis_cli.traffic import KeyTraffic, PlaceTraffic, Sample
from kinesis_core.model import HASH_KEYS, Shard, StreamSummary
from support.lineages import name

ARN = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders"


def summary(*, is_on_demand: bool = False, is_auto: bool = False) -> StreamSummary:
    return StreamSummary(
        "orders", ARN, "ACTIVE", 0, 24, is_auto_distributed=is_auto, is_on_demand=is_on_demand
    )


def open_shards(*starts: int) -> list[Shard]:
    """Return open shards that begin at these hash keys and share all of them."""
    ends = [*(start - 1 for start in starts[1:]), HASH_KEYS - 1]
    return [
        Shard(name(number), None, None, start, end, 1, None)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def even_shards(count: int) -> list[Shard]:
    return open_shards(*(HASH_KEYS * number // count for number in range(count)))


def sample(
    records_per_s: float,
    keys: Mapping[str, int] | None = None,
    places: Sequence[tuple[int, int]] = (),
    record_bytes: int = 100,
) -> Sample:
    """Return a complete sample of 10 s with these records by key and by place."""
    records = round(10 * records_per_s)
    return Sample(
        records,
        records,
        records * record_bytes,
        10_000,
        keys=tuple(KeyTraffic(key, count, count * record_bytes) for key, count in (keys or {}).items()),
        places=tuple(PlaceTraffic(at, count, count * record_bytes) for at, count in places),
    )


def by_shard(shards: Sequence[Shard], *samples: Sample | None) -> dict[str, Sample]:
    pairs = zip(shards, samples, strict=True)
    return {shard.shard_id: one for shard, one in pairs if one is not None}
