"""A stream in memory each of whose calls takes time."""

from __future__ import annotations

from attrs import define

from kinesis_core.model import Page
from support.fake_stream import FakeClock, FakeStream

CALL_S = 0.1


@define
class SlowStream(FakeStream):
    """GetRecords takes `CALL_S`, so that a plan with a budget may not get to every shard."""

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self.clock.sleep(CALL_S)
        return FakeStream.get_records(self, iterator, limit, with_data, shard_id)


def slow_stream(shards: int, name: str = "orders", clock: FakeClock | None = None) -> SlowStream:
    stream = SlowStream(clock or FakeClock(), name=name)
    stream.create(shards)
    return stream
