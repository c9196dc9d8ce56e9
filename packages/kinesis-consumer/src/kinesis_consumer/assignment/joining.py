"""
How a worker joins its group: after a check that no worker of an older KCL runs, and no other process has its name.

A worker that was stopped or killed leaves its name in its leases. Only the counters of the leases tell it from one that runs. So these
leases are watched for as long as a lease is valid.
"""

from __future__ import annotations

import random
from functools import partial

from kinesis_consumer.assignment.namesakes import Namesakes
from kinesis_consumer.assignment.older_kcl import OlderWorkers, write_version
from kinesis_consumer.patience import patiently
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core.clock import Clock
from kinesis_core.leases import PROCESS, read_leases

LOOKS = 6
"""Looks in one lease duration, in which a worker renews its leases three times."""


def join(table: ItemTable, namesakes: Namesakes, wall_clock: Clock, rng: random.Random) -> None:
    """
    Wait until a worker may begin, and let the table say that a leader assigns the leases. *namesakes* are those of the worker.

    That takes no time where no lease is in question, and at most one lease duration else.

    Raises:
        GroupStateError: A worker of an older KCL runs, or the table is of a newer KCL.
        WorkerNameInUseError: A process with the name of the worker runs.
        ServiceError: The table failed, or lacks the index.
    """
    worker, clock = namesakes.worker, namesakes.clock
    older, until_s = OlderWorkers(table.name, worker), clock.now_s() + namesakes.duration_s
    while True:
        items = patiently("Scan", table.scan, clock, rng)
        may_run = older.look(items), namesakes.look(items)
        if not any(may_run) or clock.now_s() >= until_s:
            break
        clock.sleep(namesakes.duration_s / LOOKS)
    for lease in read_leases(items)[0]:
        # A KCL has taken it from a process that was killed, and may hand it over to this one.
        if namesakes.has(lease) and lease.actual_owner != worker:
            update = Update(lease.key, expect={PROCESS: lease.process}, remove=(PROCESS,))
            patiently("UpdateItem", partial(table.update, update), clock, rng)
    claim = partial(write_version, table, worker, int(wall_clock.now_s() * 1000))
    patiently("PutItem", claim, clock, rng)
