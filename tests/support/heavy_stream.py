"""A stream in memory whose responses have bodies, which need room in the budget of the thread that receives them."""

from __future__ import annotations

from attrs import define, field

from kinesis_core.budget import admit
from kinesis_core.model import Page
from support.fake_stream import FakeClock
from support.scripted_stream import ScriptedStream


@define
class HeavyStream(ScriptedStream):
    """A body has the bytes of its records' data."""

    asked: list[str] = field(factory=list)
    """The shard of each call, from before its body is received."""

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self.asked.append(shard_id)
        page = ScriptedStream.get_records(self, iterator, limit, with_data, shard_id)
        page.body_bytes = sum(len(record.data) for record in page.records)
        admit(page.body_bytes)
        return page


def heavy_stream(shards: int, name: str = "orders", clock: FakeClock | None = None) -> HeavyStream:
    stream = HeavyStream(clock or FakeClock(), name=name)
    stream.create(shards)
    return stream
