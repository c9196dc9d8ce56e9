"""The report of `kinesis advise`: samples of all open shards, and the advice."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from kinesis_cli.advice.judge import Recommendation, advise
from kinesis_cli.traffic import Sample, Window, bounds_for, sample_shards
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
