"""Samples many shards at once."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Sequence

from attrs import frozen

from kinesis_cli.traffic.reading import Bounds, Window, sample_shard
from kinesis_cli.traffic.samples import Sample
from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.model import Shard

THREADS = 16


@frozen
class _Failed:
    error: BaseException


_Found = tuple[str, Sample | None] | _Failed


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

    The threads are daemons: Ctrl-C does not wait for them.

    Raises:
        ServiceError: A call failed for good.
    """
    waiting: queue.SimpleQueue[Shard] = queue.SimpleQueue()
    for shard in shards:
        waiting.put(shard)
    time = clock or SystemClock()

    def sample(shard: Shard) -> tuple[str, Sample | None]:
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        return shard.shard_id, sample_shard(api, shard, window, bounds, time, rng, by_key=by_key)

    found: queue.SimpleQueue[_Found] = queue.SimpleQueue()
    for _ in range(min(threads, len(shards))):
        threading.Thread(
            target=_work, args=(waiting, sample, found), name="kinesis-sample", daemon=True
        ).start()
    return dict(_collect(found, len(shards)))


def _work(
    waiting: queue.SimpleQueue[Shard],
    sample: Callable[[Shard], tuple[str, Sample | None]],
    found: queue.SimpleQueue[_Found],
) -> None:
    try:
        while True:
            try:
                shard = waiting.get_nowait()
            except queue.Empty:
                return
            found.put(sample(shard))
    except BaseException as error:  # noqa: BLE001 # raised again in the caller's thread
        found.put(_Failed(error))


def _collect(found: queue.SimpleQueue[_Found], count: int) -> list[tuple[str, Sample]]:
    samples = []
    for _ in range(count):
        item = found.get()
        if isinstance(item, _Failed):
            raise item.error
        shard_id, sample = item
        if sample is not None:
            samples.append((shard_id, sample))
    return samples
