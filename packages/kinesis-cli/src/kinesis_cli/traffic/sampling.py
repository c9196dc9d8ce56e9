"""Samples many shards at once."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kinesis_cli.traffic.parallel import call_each
from kinesis_cli.traffic.reading import Bounds, Window, sample_shard
from kinesis_cli.traffic.samples import Sample
from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.model import Shard

THREADS = 16


def sample_shards(
    api: StreamApi,
    shards: Sequence[Shard],
    window: Window,
    bounds: Bounds,
    *,
    by_key: bool = False,
    threads: int = THREADS,
    clock: Clock | None = None,
) -> dict[str, Sample]:
    """
    Return a sample of each of *shards* within *window*, by shard id. Shards that could not be sampled are left out.

    Raises:
        ServiceError: A call failed after its retries.
    """
    time = clock or SystemClock()

    def sample(shard: Shard) -> tuple[str, Sample | None]:
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        return shard.shard_id, sample_shard(api, shard, window, bounds, time, rng, by_key=by_key)

    found = call_each(sample, shards, threads)
    return {shard_id: one for shard_id, one in found if one is not None}
