"""What `kinesis shards` shows of a stream: its facts, its shards, and a sample of each open one."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from kinesis_cli.output import note, show_count
from kinesis_cli.traffic import Sample, Window, bounds_for, sample_shards
from kinesis_core.aws import StreamApi
from kinesis_core.model import ListedShard, StreamSummary, with_children

MAX_BYTES = 2 * 1024 * 1024
"""Of one shard."""
MANY_SHARDS = 500
"""A sample of so many takes seconds."""


@frozen
class Overview:
    """A stream at one moment."""

    summary: StreamSummary
    shards: tuple[ListedShard, ...]
    """In the order of their ids."""
    sample_ms: int | None
    """The time that the samples go back. None: nothing was sampled."""
    samples: Mapping[str, Sample]
    """By shard id. Closed shards have none, and neither have those whose readers use up their quota."""

    @property
    def open_count(self) -> int:
        return sum(shard.is_open for shard in self.shards)


def look(api: StreamApi, sample_ms: int | None) -> Overview:
    """Return the stream behind *api*, with a sample of its latest *sample_ms* milliseconds."""
    summary = api.describe()
    shards = with_children(api.list_shards())
    samples: Mapping[str, Sample] = {}
    if sample_ms is not None:
        opened = [shard for shard in shards if shard.is_open]
        window = Window.of_last(sample_ms, api, summary.created_ms)
        if len(opened) >= MANY_SHARDS:
            note(f"Reading a sample of {show_count(len(opened))} shards. --no-sample goes without.")
        samples = sample_shards(api, opened, window, bounds_for(len(opened), MAX_BYTES))
    return Overview(summary, tuple(shards), sample_ms, samples)
