"""Generated KCL applications: wherever one stopped, a query that starts from its table reads each later user record exactly once."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_core.leases import (
    ALL_USER_RECORDS,
    FINISHED,
    OLDEST,
    Lease,
    LeaseCheckpoint,
    checkpoint_attributes,
    item_to_dynamodb,
    resume_from_applications,
    shard_attributes,
)
from kinesis_core.model import KclApplication, PerStream
from property.aggregated import Case, Row, Written, cases
from support.examples import examples


@define
class Application:
    """A KCL application that stopped somewhere; *data* decides where."""

    written: Written
    data: st.DataObject
    name: str = "billing"
    leases: dict[str, Lease] = field(factory=dict)
    read: dict[str, int] = field(factory=dict)
    """How many user records it processed, by shard."""

    def run(self) -> None:
        """Read some of the stream, parents before children, and delete leases of finished shards as the KCL does."""
        shards = self.written.stream.shards
        for shard_id, shard in shards.items():
            if not shard.parents:
                self.leases[shard_id] = Lease(shard_id, OLDEST)
        for shard_id in shards:  # parents come before their children
            lease = self.leases.get(shard_id)
            parents = [self.leases.get(parent) for parent in shards[shard_id].parents]
            if lease is not None and all(parent is None or parent.is_finished for parent in parents):
                self._read_some_of(shard_id)
                self._delete_finished()

    def scan(self) -> list[dict[str, Any]]:
        return [
            item_to_dynamodb(
                {
                    "leaseKey": lease.key,
                    "leaseCounter": 7,
                    **checkpoint_attributes(lease.checkpoint),
                    **shard_attributes(lease),
                }
            )
            for lease in self.leases.values()
        ]

    def _read_some_of(self, shard_id: str) -> None:
        rows = self.written.all_rows()[shard_id]
        count = self.read[shard_id] = self.data.draw(st.integers(0, len(rows)))
        checkpoint = self._checkpoint(rows, count)
        children = [s for s in self.written.stream.shards.values() if shard_id in s.parents]
        # The KCL waits with the end of a shard until the other parent of a merged child has a lease, too.
        has_parents = all(parent in self.leases for child in children for parent in child.parents)
        if children and has_parents and count == len(rows) and self._chance():
            checkpoint = FINISHED
            for child in children:
                self.leases.setdefault(child.shard_id, Lease(child.shard_id, OLDEST, parents=child.parents))
        self.leases[shard_id] = Lease(
            shard_id, checkpoint, parents=self.written.stream.shards[shard_id].parents
        )

    def _checkpoint(self, rows: list[Row], count: int) -> LeaseCheckpoint:
        """Return a checkpoint after *count* user records: there are several, for example when a query has published it."""
        found = [OLDEST] if count == 0 else []
        if count < len(rows) and rows[count][2] == 0:
            found.append(LeaseCheckpoint(rows[count][1], -1))
        if count > 0:
            _, number, index, _ = rows[count - 1]
            found.append(LeaseCheckpoint(number, index))
            if count == len(rows) or rows[count][1] != number:
                found.append(LeaseCheckpoint(number, ALL_USER_RECORDS))
                found.append(LeaseCheckpoint(number, index + 1))
        return self.data.draw(st.sampled_from(found))

    def _delete_finished(self) -> None:
        for shard_id, lease in list(self.leases.items()):
            shards = self.written.stream.shards
            children = [s.shard_id for s in shards.values() if shard_id in s.parents]
            begun = all(c not in self.leases or self.leases[c].checkpoint > OLDEST for c in children)
            known = all(c in self.leases or c in self.read for c in children)
            has_parent = any(parent in self.leases for parent in lease.parents)
            if lease.is_finished and begun and known and not has_parent and self._chance():
                del self.leases[shard_id]

    def _chance(self) -> bool:
        return self.data.draw(st.booleans())


@pytest.mark.tests
@settings(max_examples=examples(200), deadline=None)
@given(st.data(), cases)
def test_nothing_is_lost_or_repeated(data: st.DataObject, case: Case) -> None:
    """A query continues after the very user record at which the application stopped, inside aggregates and through reshards."""
    application = Application(case.written, data)
    application.run()
    position = resume_from_applications(
        KclApplication("billing"), {"orders": case.written.stream}, lambda _: application
    )
    assert isinstance(position, PerStream)
    case.assert_rest_is_read(position, application.read)
