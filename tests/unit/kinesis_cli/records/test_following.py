"""When the reading of chosen shards ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from attrs import frozen

from kinesis_cli.records import Choice, Span, record_lists
from kinesis_cli.records.following import _last_by_time
from kinesis_core import AtTimestamp, Batch, ListedShard, UserRecord
from kinesis_core.model import HASH_KEYS, Offset
from support.user_records import user_record

A, B, C = (f"shardId-{number:012d}" for number in range(3))
AFTER: dict[str, Any] = {"AFTER": "1", "arrived": 1}
ENDED: dict[str, Any] = {"SHARD_END": True, "arrived": 1}
GIVEN_END: dict[str, Any] = {"SHARD_END": True}


def batch(shards: dict[str, Any]) -> Batch:
    """Return a batch without records that ends there. The offset of several shards is packed."""
    plain = {"version": 1, "streams": {"orders": {"created": 1, "shards": shards}}}
    offset = Offset.from_json(plain).to_json(max_shards=1)
    return Batch(offset, "orders", [], lambda _groups, _data, _page_bytes: iter(()), dict)


def shard(shard_id: str, ending_number: int | None = None, parent_id: str | None = None) -> ListedShard:
    return ListedShard(shard_id, parent_id, None, 0, HASH_KEYS - 1, 1, ending_number)


@frozen
class Source:
    """A stream of some shards, with batches that end in these shards."""

    ends: list[dict[str, Any]]
    listed: tuple[ListedShard, ...] = (shard(A), shard(B))

    def now_ms(self) -> int:
        return 0

    def shards(self) -> tuple[ListedShard, ...]:
        return self.listed

    def read(self, _start: object, _end: object = None) -> Batch:
        return batch(self.ends[0])

    def follow(self, start: dict[str, Any], _until: object) -> Iterator[Batch]:
        assert start == batch(self.ends[0]).offset
        yield from map(batch, self.ends[1:])


def ends(
    source: Source, capsys: pytest.CaptureFixture[str], *shard_ids: str, span: Span | None = None
) -> bool:
    """Return whether reading these shards ends before the batches do."""
    assert list(record_lists(cast(Any, source), span or Span(), Choice(shards=shard_ids))) == []
    return capsys.readouterr().err.startswith("The shards have ended.")


@pytest.mark.parametrize(
    ("positions", "has_ended"),
    [
        ([{A: AFTER, B: AFTER}], False),
        ([{A: AFTER}, {A: ENDED}], False),  # B is not in an offset yet
        ([{A: AFTER}, {A: GIVEN_END}], False),
        ([{A: AFTER, B: AFTER}, {A: AFTER, B: ENDED}], False),
        ([{A: AFTER, B: AFTER}, {A: GIVEN_END, B: ENDED}], True),
        ([{A: AFTER, B: AFTER}, {}], True),  # offsets drop what is finished
    ],
)
def test_the_end_of_shards(
    positions: list[dict[str, Any]], has_ended: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends when all chosen shards were seen and none is unfinished. A shard that is missing may be still to come."""
    assert ends(Source(positions), capsys, A, B) == has_ended


@pytest.mark.parametrize(
    ("positions", "has_ended"),
    [
        ([{B: AFTER}, {B: AFTER}], False),
        ([{B: AFTER}, {}], True),
        ([{A: AFTER, B: AFTER}, {B: AFTER}], False),
        ([{A: AFTER, B: AFTER}, {A: AFTER}], False),
        ([{A: AFTER, B: AFTER}, {}], True),
    ],
)
def test_a_shard_that_was_closed_before(
    positions: list[dict[str, Any]], has_ended: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chosen shard that ended before reading began is not waited for, unless it has records to read."""
    assert ends(Source(positions, (shard(A, 9), shard(B))), capsys, A, B) == has_ended


def test_closed_shards_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Shards that had all ended before reading began are not followed: no later batch would tell."""
    assert ends(Source([{B: AFTER}], (shard(A, 9), shard(B))), capsys, A)


def test_shards_until_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    """With an end to come the first batch has all that is there, too: a later batch may begin with some shards only."""
    span = Span(until=AtTimestamp(1))
    assert ends(Source([{B: AFTER}, {}], (shard(A, 9), shard(B))), capsys, A, B, span=span)


def test_a_closed_shard_that_waits_for_its_parent(capsys: pytest.CaptureFixture[str]) -> None:
    """A closed shard that is not in an offset comes after its parent."""
    listed = (shard(A, 9), shard(B, 9, parent_id=A), shard(C))
    positions: list[dict[str, Any]] = [{A: AFTER, C: AFTER}, {B: AFTER, C: AFTER}, {C: AFTER}, {B: AFTER}]
    assert not ends(Source(positions[:2], listed), capsys, B, C)
    assert not ends(Source(positions[:3], listed), capsys, B, C)
    assert ends(Source([*positions[:3], {}], listed), capsys, B, C)


def record(shard_id: str, time_ms: int, data: bytes) -> UserRecord:
    return user_record(data, shard_id=shard_id, arrived_ms=time_ms)


def test_the_last_records_of_very_many_shards() -> None:
    """Shards that come one after the other, too many to be merged, have their last records chosen by time."""
    lists = [
        [record(A, 1, b"1"), record(A, 9, b"9"), record(A, 8, b"after 9")],
        [record(B, 2, b"2"), record(B, 3, b"3")],
        [record(C, 10, b"10"), record(C, 11, b"11")],
        [record(A, 5, b"after 9 too")],
    ]
    assert [one.data for one in _last_by_time(lists, 4)] == [b"after 9", b"after 9 too", b"10", b"11"]
    assert [one.data for one in _last_by_time(lists, 100)][:3] == [b"1", b"2", b"3"]
