"""
One worker of a run. Writes to a journal what it gets, and what it commits, before and after each commit.

    python -m tools.consumer_chaos.worker ENDPOINT LEASES JOURNALS NAME
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from kinesis_consumer import Batch, ConsumerGroup, GroupSettings, LeaseLostError
from support.streams import connection_to
from tools.consumer_chaos.journal import Journal
from tools.consumer_chaos.unkind import UnkindLeases

STREAM, APPLICATION = "orders", "billing"
LEASE_DURATION_S = 2.5
SETTINGS = GroupSettings(lease_duration_s=LEASE_DURATION_S, fetch_interval_s=0.2, max_batch_records=20)
LONGEST_WORK_S = 0.3


def main(endpoint_url: str, leases: str, journals: str, name: str) -> None:
    rng = random.Random(name)
    journal = Journal(Path(journals, f"{name}.jsonl"))

    def handle(batch: Batch) -> None:
        if not journal.delivered(batch):
            return
        time.sleep(rng.uniform(0, LONGEST_WORK_S))
        journal.committing(batch)
        try:
            batch.commit()
        except LeaseLostError as error:
            (journal.unconfirmed if error.may_be_committed else journal.lost)(batch)
            return
        journal.committed(batch)

    with ConsumerGroup.open(
        STREAM,
        APPLICATION,
        leases=UnkindLeases(leases, LEASE_DURATION_S, random.Random(f"{name} and its leases")),
        **connection_to(endpoint_url),
        start="TRIM_HORIZON",
        settings=SETTINGS,
        worker=name,
    ) as group:
        if rng.random() < 0.5:
            group.run(handle, threads=3)
        else:
            for batch in group:
                handle(batch)


if __name__ == "__main__":
    main(*sys.argv[1:])
