"""A producer's list of shards, which has to cover all hash keys."""

from __future__ import annotations

import random
from itertools import count

from kinesis_core.aws import PutApi, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import UnavailableError
from kinesis_core.producing.shard_map import ShardMap

_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
"""A listing may be older than a reshard: the n-th is made up to n pauses after the one before."""


def pause_s(attempt: int, rng: random.Random) -> float:
    """Return how long to wait after so many listings that did not help."""
    longest_s = min(_LONGEST_PAUSE_S, _PAUSE_S * attempt)
    return rng.uniform(longest_s / 2, longest_s)


def listed_map(api: PutApi, stream: str, *, only_open: bool = False) -> ShardMap:
    """
    Return the map of the shards, listed once; with *only_open*, closed ones may be missing in it.

    Raises:
        ServiceError: They cannot be listed, or the listing has a hole.
    """
    return ShardMap.of(api.list_shards(with_retries=False, only_open=only_open), stream)


def first_map(api: PutApi, stream: str, clock: Clock, rng: random.Random, patience_s: float) -> ShardMap:
    """
    Return the map of the shards; while the listing has a hole, wait for a better one for so long.

    Raises:
        ServiceError: They cannot be listed, or the hole stays.
    """
    deadline_s = clock.now_s() + patience_s
    for attempt in count(1):
        shards = api.list_shards()
        try:
            return ShardMap.of(shards, stream)
        except UnavailableError as error:
            if clock.now_s() >= deadline_s:
                raise
            wait_s = pause_s(attempt, rng)
            log_retry("ListShards", error.code, attempt, wait_s, stream=stream)
            clock.sleep(wait_s)
    raise AssertionError("counting does not end")
