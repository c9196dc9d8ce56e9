"""A producer of numbered rows, and the rows that the KCL delivers."""

from __future__ import annotations

from collections import Counter

from kinesis_core import ProducerSettings
from kinesis_core.errors import AccessDeniedError, PutError
from kinesis_core.producing.rows import Rows
from support.fake_puts import Desk, FakePuts

SILENCE_S = 6.0
"""Longer than the time without a response after which a producer checks its shards."""


def rows(start: int, stop: int) -> Rows:
    """Return rows with the numbers as data, each with a key of its own."""
    numbers = range(start, stop)
    return Rows([b"%d" % number for number in numbers], [f"key-{number}" for number in numbers])


def payloads(start: int, stop: int) -> Counter[bytes]:
    """Return the data of these rows, each once."""
    return Counter(rows(start, stop).data)


def opened(*, shards: int = 2, enabled: bool = True) -> Desk:
    """Return a producer of a stream with so many shards."""
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
    """Put and flush rows, then check that the KCL delivers exactly them, or all rows *since* a number, once each."""
    desk.put(rows(start, stop))
    desk.flush()
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(start if since is None else since, stop)


def kcl(desk: Desk) -> Counter[bytes]:
    """Return what the KCL delivers: it drops an aggregate with a user record of another shard."""
    return Counter(record.data for record in desk.puts.kcl_user_records())


def failure_of(desk: Desk) -> PutError:
    assert desk.accumulator.failure is not None
    return desk.accumulator.failure


def deny(_: object) -> None:
    """Refuse a request permanently."""
    raise AccessDeniedError("Allow the IAM action kinesis:PutRecords.", "AccessDeniedException")


def break_down(_: object) -> None:
    """Fail like code with a bug."""
    raise ZeroDivisionError("broken")
