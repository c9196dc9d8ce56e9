"""When the reading of chosen shards ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from attrs import frozen

from kinesis_cli.records import Choice, Span, record_lists
from kinesis_core import Batch, ListedShard
from kinesis_core.model import HASH_KEYS

A, B = "shardId-000000000000", "shardId-000000000001"
AFTER: dict[str, Any] = {"AFTER": "1", "arrived": 1}
ENDED: dict[str, Any] = {"SHARD_END": True, "arrived": 1}


@frozen
class Source:
    """A stream of two open shards, with batches that end in these shards."""

    ends: list[dict[str, Any]]

    def shards(self) -> list[ListedShard]:
        return [ListedShard(shard_id, None, None, 0, HASH_KEYS - 1, 1, None) for shard_id in (A, B)]

    def follow(self, _start: object) -> Iterator[Batch]:
        for shards in self.ends:
            yield Batch(
                {"streams": {"orders": {"shards": shards}}},
                "orders",
                [],
                lambda _groups, _data, _page_bytes: iter(()),
                dict,
            )


@pytest.mark.parametrize(
    ("ends", "has_ended"),
    [
        ([{A: AFTER, B: AFTER}], False),
        ([{A: AFTER}, {A: ENDED}], False),  # B is not in an offset yet
        ([{A: AFTER}, {A: "SHARD_END"}], False),
        ([{A: AFTER, B: AFTER}, {A: AFTER, B: ENDED}], False),
        ([{A: AFTER, B: AFTER}, {A: "SHARD_END", B: ENDED}], True),
        ([{A: AFTER, B: AFTER}, {}], True),  # offsets drop what is finished
    ],
)
def test_the_end_of_shards(
    ends: list[dict[str, Any]], has_ended: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends when all chosen shards were seen running and none is unfinished. A shard that is missing may be still to come."""
    source = cast(Any, Source(ends))
    assert list(record_lists(source, Span(), Choice(frozenset()), frozenset({A, B}), 0)) == []
    assert capsys.readouterr().err.startswith("The shards have ended.") == has_ended
