"""A producer of rows that are numbered, and which of them a KCL finds in the stream."""

from __future__ import annotations

from collections import Counter

from kinesis_core import ProducerSettings
from kinesis_core.errors import PutError
from kinesis_core.producing.rows import Rows
from support.fake_puts import Desk, FakePuts

SILENCE_S = 6.0
"""So long a stream is not heard, and a producer looks at it before it sends aggregates."""


def rows(start: int, stop: int) -> Rows:
    """Return rows with the numbers as data, and a key of its own for each."""
    numbers = range(start, stop)
    return Rows([b"%d" % number for number in numbers], [f"key-{number}" for number in numbers])


def payloads(start: int, stop: int) -> Counter[bytes]:
    """Return the data of these rows, each once."""
    return Counter(rows(start, stop).data)


def opened(*, shards: int = 2, enabled: bool = True) -> Desk:
    """Return a producer of a stream that has so many shards."""
    settings = ProducerSettings(aggregation_enabled=enabled, aggregation_max_size=500)
    return Desk.open(FakePuts().create(shards), settings)


def flushed(shards: int = 2) -> Desk:
    """Return a producer that has written and flushed the rows 0 to 99."""
    desk = opened(shards=shards)
    desk.put(rows(0, 100))
    desk.flush()
    desk.accumulator.counts.take_totals()
    return desk


def write(desk: Desk, some: Rows) -> None:
    """Write *some* rows without a flush."""
    desk.put(some)
    desk.accumulator.seal()
    desk.accumulator.waiting_callers += 1
    while desk.accumulator.counts.held_bytes:
        desk.step()
    desk.accumulator.waiting_callers -= 1


def check_written(desk: Desk, start: int, stop: int, *, since: int | None = None) -> None:
    """Put and flush rows; the KCL then finds them, and those *since* an earlier one, once each and no others."""
    desk.put(rows(start, stop))
    desk.flush()
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(start if since is None else since, stop)


def kcl(desk: Desk) -> Counter[bytes]:
    """Return what the KCL finds in the stream: it drops an aggregate of which one user record is in the wrong shard."""
    return Counter(record.data for record in desk.puts.kcl_user_records())


def failure_of(desk: Desk) -> PutError:
    assert desk.accumulator.failure is not None
    return desk.accumulator.failure
