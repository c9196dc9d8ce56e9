"""The steps of one worker, without threads."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from kinesis_consumer.leases import updates
from kinesis_consumer.worker import Callbacks, Source, Worker
from kinesis_core.leases import read_lease
from kinesis_core.planning import PlanSettings, ShardPages
from support.consumer_parts import OneShard


def worker_with_a_lease() -> tuple[Worker, OneShard]:
    shard = OneShard.new()
    pages = ShardPages.of("orders", shard.stream, PlanSettings(), shard.clock, random.Random(1))
    pages.begin()
    source = Source("orders", pages, shard.stream)
    worker = Worker("w", shard.table, {None: source}, shard.settings, shard.clock, Callbacks())
    item = shard.table.update(updates.take(shard.lease(), worker.name))
    assert item is not None
    worker.gain(read_lease(item), shard.clock.now_s())
    return worker, shard


def test_a_failed_renewal_is_made_again_after_a_pause() -> None:
    """While the store fails, a worker renews its leases a few times a second, and not as fast as it can."""
    worker, shard = worker_with_a_lease()
    shard.clock.sleep(shard.settings.lease_duration_s / 2)
    shard.table.hook = lambda: "fail"
    assert 0.1 < worker.renew() < 1


def test_a_lease_that_is_not_due_costs_no_thread() -> None:
    """Of a thousand leases, most have nothing to do at a given time. Only the others are passed to the threads."""
    worker, shard = worker_with_a_lease()
    passed: list[object] = []

    def run_all(run: Callable[[Any], None], values: Iterable[Any]) -> list[None]:
        for value in values:
            passed.append(value)
            run(value)
        return []

    worker.renew(run_all)
    assert passed == []
    shard.clock.sleep(shard.settings.lease_duration_s / 2)
    worker.renew(run_all)
    assert passed == worker.readers()
