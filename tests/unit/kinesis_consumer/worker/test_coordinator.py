"""What one worker does for its group."""

from __future__ import annotations

import pytest
from attrs import define

from kinesis_consumer import GroupSettings
from kinesis_consumer.assignment.lock import LEADER
from kinesis_consumer.stores import MemoryTable
from kinesis_consumer.worker.coordinator import scan_pause_s
from kinesis_core import AccessDeniedError, ServiceError, UnavailableError
from kinesis_core.model import Shard
from support.consumer_groups import QUICK, leases_of, new_group, new_stream
from support.fake_stream import FakeClock, FakeStream
from unit.kinesis_consumer.lease_faults import FaultyTable


@define
class Unlisted(FakeStream):
    """A stream with two shards, which cannot be listed while there is an error."""

    error: ServiceError | None = None

    @staticmethod
    def of(error: ServiceError) -> Unlisted:
        stream = Unlisted(FakeClock(), error=error)
        stream.create(2)
        return stream

    def list_shards(self) -> list[Shard]:
        if self.error is not None:
            raise self.error
        return super().list_shards()


def test_a_listing_that_fails_for_good_ends_the_group() -> None:
    """Nobody would read new shards without it. The program gets the error."""
    stream = Unlisted.of(AccessDeniedError("ListShards is not allowed.", "AccessDeniedException"))
    coordinator = new_group(stream, clock=FakeClock())._threads.coordinator
    with pytest.raises(AccessDeniedError, match="ListShards is not allowed"):
        coordinator.step()


def test_a_listing_that_fails_is_warned_of_and_made_again(caplog: pytest.LogCaptureFixture) -> None:
    """The leases are created once Kinesis lists the shards."""
    stream, table = Unlisted.of(UnavailableError("ListShards failed.", "InternalFailure")), MemoryTable()
    clock = FakeClock()
    coordinator = new_group(stream, table, clock=clock)._threads.coordinator
    coordinator.step()
    warned = [line for line in caplog.messages if line.startswith("coordination.failed task=creation")]
    assert len(warned) == 1
    assert "code=InternalFailure" in warned[0]
    assert "reason=ListShards failed." in warned[0]
    stream.error = None
    clock.sleep(5)
    coordinator.step()
    assert sorted(leases_of(table)) == stream.open_shards()


def test_a_lease_that_was_left_to_anybody_is_not_left_for_long() -> None:
    """
    A leader that leaves before it has heard of another worker leaves its lease to anybody, and deletes the lock. The other worker
    leads within seconds, also if leases are valid for an hour.
    """
    stream, table, clock = new_stream(1), MemoryTable(), FakeClock()
    first, second = (
        new_group(stream, table, worker=name, clock=clock, settings=QUICK)._threads.coordinator
        for name in ("worker-1", "worker-2")
    )
    for _ in range(5):
        first.step()
        clock.sleep(1)
    assert [lease.owner for lease in leases_of(table).values()] == ["worker-1"]
    second.step()
    table.delete("worker-2", {})  # as if the first worker had looked before that step
    first.release()
    assert [lease.owner for lease in leases_of(table).values()] == [None]
    for _ in range(5):
        clock.sleep(1)
        second.step()
    assert [lease.owner for lease in leases_of(table).values()] == ["worker-2"]


@pytest.mark.parametrize(("duration_s", "looks"), [(4.0, 10), (10.0, 4), (3600.0, 4)])
def test_a_worker_that_does_not_lead_looks_at_the_lock(duration_s: float, looks: int) -> None:
    """It does so as often as a leader renews it, and every 2.5 s at least."""
    stream, table, clock = new_stream(1), FaultyTable(), FakeClock()
    settings = GroupSettings(lease_duration_s=duration_s)
    first, second = (
        new_group(stream, each, worker=name, clock=clock, settings=settings)._threads.coordinator
        for name, each in (("worker-1", table.table), ("worker-2", table))
    )
    for _ in range(100):
        first.step()
        second.step()
        clock.sleep(0.1)
    assert table.calls.count(("get", LEADER)) in (looks, looks + 1)


@pytest.mark.parametrize(("leases", "pause_s"), [(0, 1.5), (75, 1.5), (500, 10.0), (5000, 20.05)])
def test_scans_of_large_tables_are_rare(leases: int, pause_s: float) -> None:
    """Scans cost five read units per second at most, but are never rarer than those of the KCL."""
    assert scan_pause_s(leases, 1.5, 10.0) == pytest.approx(pause_s)
