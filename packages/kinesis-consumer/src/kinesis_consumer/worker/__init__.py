"""
One worker of a group: its steps, how it gets leases, and the threads that run it.

Locks, in the order in which one thread may have several of them:

1. `HeldLease.turn`, one for each shard: one thread writes the lease.
2. `HeldLease.lock`, one for each shard: the lease, the current batch, and the pages of its reader.
3. `HeldShards.changed`: which shards there are, which of them are looked at next, and what threads and tasks wait for.
4. The lock of the store: `MemoryTable`, or `SqliteFile` and, before it, the one that forks take.

Of the first three, only the turn is held during calls, so a thread that reads the state of a shard never waits for a store.
"""

from kinesis_consumer.worker.arrivals import Arrivals
from kinesis_consumer.worker.callbacks import Callbacks, LeaseCallback, MetricCallback
from kinesis_consumer.worker.coordinator import Coordinator
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_consumer.worker.threads import LONGEST_WAIT_S, WorkerThreads
from kinesis_consumer.worker.worker import Worker

__all__ = [
    "Arrivals",
    "Callbacks",
    "Coordinator",
    "LONGEST_WAIT_S",
    "LeaseCallback",
    "LeaseHolder",
    "MetricCallback",
    "Worker",
    "WorkerThreads",
]
