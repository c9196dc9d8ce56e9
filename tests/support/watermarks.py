"""How late records come after later ones, as Spark's watermark sees it: an oracle that knows the records and nothing of plans."""

from __future__ import annotations

from collections.abc import Sequence

from support.fake_stream import FakeStream
from support.planned import Read


def arrivals(streams: Sequence[FakeStream]) -> dict[str, int]:
    """Return the arrival time of each record in ms, by its sequence number."""
    shards = [shard for stream in streams for shard in (*stream.shards.values(), *stream.gone.values())]
    return {r.sequence_number: r.arrived_ms or 0 for shard in shards for r in shard.records}


def lateness_ms(batches: Sequence[Read], streams: Sequence[FakeStream]) -> int:
    """Return how much earlier a record arrived, at most, than one of an earlier batch."""
    times, latest_ms, late_ms = arrivals(streams), 0, 0
    for batch in batches:
        arrived = [times[number] for _, number in batch]
        late_ms = max(late_ms, latest_ms - min(arrived, default=latest_ms))
        latest_ms = max([latest_ms, *arrived])
    return late_ms
