"""Lists the shards for a producer. The open shards must cover all hash keys."""

from __future__ import annotations

import random
from itertools import count

from kinesis_core.aws import PutApi, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import UnavailableError
from kinesis_core.producing.shard_map import ShardMap
from kinesis_core.producing.write_window import Patience

_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
"""A listing may be older than a reshard, so it is repeated: the n-th time after at most n pauses."""


def pause_s(attempt: int, rng: random.Random) -> float:
    """Return how long to wait after *attempt* listings without success."""
    longest_s = min(_LONGEST_PAUSE_S, _PAUSE_S * attempt)
    return rng.uniform(longest_s / 2, longest_s)


def listed_map(api: PutApi, stream: str, *, only_open: bool = False) -> ShardMap:
    """
    List the shards once and return their map. With *only_open*, closed shards may be missing in it.

    Raises:
        ServiceError: The shards cannot be listed, or the open ones do not cover all hash keys.
    """
    return ShardMap.of(api.list_shards(with_retries=False, only_open=only_open), stream)


def first_map(api: PutApi, stream: str, clock: Clock, rng: random.Random, patience_s: float) -> ShardMap:
    """
    List the shards and return their map. While the open ones do not cover all hash keys, list again for *patience_s*.

    Raises:
        ServiceError: The shards cannot be listed, or the open ones still do not cover all hash keys.
    """
    patience = Patience(patience_s)
    for attempt in count(1):
        shards = api.list_shards()
        try:
            return ShardMap.of(shards, stream)
        except UnavailableError as error:
            patience.failed(clock.now_s())
            if patience.is_over:
                raise
            wait_s = pause_s(attempt, rng)
            log_retry("ListShards", error.code, attempt, wait_s, stream=stream)
            clock.sleep(wait_s)
    raise AssertionError("counting does not end")
