"""Splits and merges of a stream's shards, which are done at once, or at the end of its status UPDATING as on AWS."""

from __future__ import annotations

from typing import Any, cast

from kinesis_emulator.errors import invalid_argument, shard_not_found
from kinesis_emulator.shards import StoredShard
from kinesis_emulator.store import Store, StoredStream, even_ranges

Reshard = list[Any]
"""
What is done, as JSON: `["split", shard_id, new_starting_hash_key]`, `["merge", shard_id, adjacent_shard_id]` or `["scale", shards]`.

The second child of a split begins at the key, by default in the middle. The shards that are merged have adjacent keys, the lower ones first.
`scale` splits and merges until so many shards share the keys evenly. As on AWS, it opens and closes intermediate shards unless the number is
doubled or halved.
"""


def carry_out(store: Store, stream: StoredStream, reshard: Reshard, now_ms: int) -> list[StoredShard]:
    """
    Do a reshard at once, and return the children of a split or a merge. One that is due later is done before.

    Raises:
        AwsError: The shards are not known, not open, or do not fit.
    """
    with stream.lock:
        finish(store, stream, now_ms, early=True)
        parents, ranges = plan(stream, reshard, now_ms)
        if parents:
            opened = _open(store, stream, parents, ranges, now_ms)
        else:
            _scale(store, stream, len(ranges), now_ms)
            opened = []
        stream.save()
        return opened


def begin(store: Store, stream: StoredStream, reshard: Reshard, now_ms: int, for_s: float) -> None:
    """
    Let a reshard be done in *for_s*. Until then the parents take records, and nothing is seen of the children.

    Raises:
        AwsError: As for `carry_out`.

    Source: https://github.com/mhart/kinesalite/blob/v3.3.3/test/splitShard.js, which its authors ran against AWS.
    """
    with stream.lock:
        finish(store, stream, now_ms, early=True)
        plan(stream, reshard, now_ms)
        stream.due = [now_ms + round(for_s * 1000), *reshard]
        finish(store, stream, now_ms)


def finish(store: Store, stream: StoredStream, now_ms: int, *, early: bool = False) -> None:
    """Do the reshard that is due by now, or *early* the one that is due later."""
    if stream.due is None:
        return
    with stream.lock:
        if stream.due is None or not (early or stream.due[0] <= now_ms):
            return
        (due_ms, *reshard), stream.due = stream.due, None
        carry_out(store, stream, reshard, min(due_ms, now_ms))


def plan(
    stream: StoredStream, reshard: Reshard, now_ms: int
) -> tuple[tuple[StoredShard, ...], list[tuple[int, int]]]:
    """Return the shards that a reshard closes, and the hash keys of those that it opens. `scale` closes no certain ones."""
    match reshard:
        case ["split", shard_id, start]:
            shard = _open_shard(stream, shard_id, now_ms)
            middle = (shard.hash_start + shard.hash_end + 1) // 2
            return (shard,), _halves(stream, shard, middle if start is None else start)
        case ["merge", shard_id, adjacent_id]:
            shard, adjacent = (_open_shard(stream, name, now_ms) for name in (shard_id, adjacent_id))
            if shard.hash_end + 1 != adjacent.hash_start:
                raise invalid_argument(
                    f"Shards {shard_id} and {adjacent_id} in stream {stream.name} under account {stream.account_id} "
                    "are not an adjacent pair of shards eligible for merging"
                )
            return (shard, adjacent), [(shard.hash_start, adjacent.hash_end)]
        case _:
            return (), even_ranges(cast(int, reshard[1]))


def _halves(stream: StoredStream, shard: StoredShard, new_start: int) -> list[tuple[int, int]]:
    if not shard.hash_start + 1 < new_start < shard.hash_end:
        raise invalid_argument(
            f"NewStartingHashKey {new_start} used in SplitShard() on shard {shard.shard_id} in stream {stream.name} "
            f"under account {stream.account_id} is not both greater than one plus the shard's StartingHashKey "
            f"{shard.hash_start} and less than the shard's EndingHashKey {shard.hash_end}."
        )
    return [(shard.hash_start, new_start - 1), (new_start, shard.hash_end)]


def _scale(store: Store, stream: StoredStream, shards: int, now_ms: int) -> None:
    for start, end in even_ranges(shards):
        # Split a shard at each end of the range that is inside it; there may be several.
        for cut in (start, end + 1):
            shard = stream.owner(cut)
            if shard.hash_start < cut <= shard.hash_end:
                ranges = [(shard.hash_start, cut - 1), (cut, shard.hash_end)]
                _open(store, stream, (shard,), ranges, now_ms)
        whole, *pieces = stream.open_shards_from(start, end)
        for piece in pieces:
            ranges = [(whole.hash_start, piece.hash_end)]
            [whole] = _open(store, stream, (whole, piece), ranges, now_ms)


def _open(
    store: Store,
    stream: StoredStream,
    parents: tuple[StoredShard, ...],
    ranges: list[tuple[int, int]],
    now_ms: int,
) -> list[StoredShard]:
    return stream.open_shards_in(ranges, parents, store.next_opened_s(now_ms), now_ms)


def _open_shard(stream: StoredStream, shard_id: str, now_ms: int) -> StoredShard:
    shard = stream.find_shard(shard_id, now_ms)
    if shard is None:
        raise shard_not_found(shard_id, stream.name, stream.account_id)
    if shard.closed_ms is not None:
        raise invalid_argument(
            f"Shard {shard_id} in stream {stream.name} under account {stream.account_id} has already been merged or "
            "split, and thus is not eligible for merging or splitting."
        )
    return shard
