"""Workers of an older KCL in the table of a group: it is not opened beside them, and a worker that meets one stops."""

from __future__ import annotations

import random

import pytest

from kinesis_consumer import ConsumerGroup, GroupSettings, GroupStateError, LeaseLostError
from kinesis_consumer.assignment import MIGRATION, Namesakes, OlderWorkers, join, report_alive, write_version
from kinesis_consumer.delivery import Batch
from kinesis_consumer.leases import renew
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core.errors import InvalidRequestError
from kinesis_core.leases import FINISHED, LEASE_OWNER, Item, Lease, read_lease
from support.consumer_groups import fill, leases_of, new_group, new_stream
from support.fake_stream import FakeClock
from support.shared_leases import make_lease, put_leases

DURATION_S = 10.0
TABLE_MIGRATION = "TableMigration3.5"


def kcl_table(*leases: Lease, version: str = "", status: str = "") -> MemoryTable:
    """Return a table that says what an application has done of its migrations."""
    table = MemoryTable("billing")
    put_leases(table, leases)
    if version:
        item: Item = {"entityType": "CLIENT_VERSION_MIGRATION", "cv": f"CLIENT_VERSION_{version}", "mb": "w"}
        table.create(MIGRATION, {**item, "mts": 1, "h": []})
    if status:
        table.create(
            TABLE_MIGRATION, {"entityType": "TABLE_MIGRATION", "tm": f"TABLE_MIGRATION_STATUS_{status}"}
        )
    return table


class KclClock(FakeClock):
    """A clock whose time an application uses: its workers renew their leases three times in a duration."""

    def __init__(self, table: MemoryTable, *workers: str) -> None:
        super().__init__()
        self.table, self.workers, self.renewed_s = table, workers, self.now

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.now - self.renewed_s >= DURATION_S / 3:
            self.renewed_s = self.now
            for lease in leases_of(self.table).values():
                if lease.actual_owner in self.workers:
                    assert self.table.update(Update(lease.key, {}, add={"leaseCounter": 1}))


def await_end(table: MemoryTable, *running: str) -> float:
    """Wait as a worker does that is opened. Returns how long."""
    clock = KclClock(table, *running)
    began_s = clock.now_s()
    join(table, Namesakes("python", DURATION_S, clock), clock, random.Random(1))
    return clock.now_s() - began_s


# Opening ----------------------------------------------------------------------------------------------------------

OF_TWO = (make_lease(0, "w1", 7), make_lease(1, "w2", 9))
LEGACY_LAYOUTS = [("3X", "INIT"), ("3X", "DEPLOYED"), ("3X", "PENDING")]
VERSIONS = ["INIT", "2X", "UPGRADE_FROM_2X", "3X_WITH_ROLLBACK"]


@pytest.mark.parametrize(
    ("version", "status"), [("", ""), *((each, "") for each in VERSIONS), *LEGACY_LAYOUTS]
)
def test_a_worker_that_renews_is_an_error(version: str, status: str) -> None:
    """In a table whose migrations are not complete, a report is no excuse. The error names what was seen."""
    table = kcl_table(*OF_TWO, version=version, status=status)
    for worker in ("w1", "w2") if version else ():
        table.update(report_alive(worker, 0))
    advice = rf"upgrade them to KCL 3\.5 or later.* complete when {MIGRATION} says CLIENT_VERSION_3X"
    with pytest.raises(GroupStateError, match=advice) as caught:
        await_end(table, "w2")
    seen = ["w2, renewing leases"]
    seen += [f"{MIGRATION} says CLIENT_VERSION_{version}"] if version and version != "3X" else []
    seen += [f"{TABLE_MIGRATION} says TABLE_MIGRATION_STATUS_{status}"] if status else []
    assert str(caught.value).endswith(f"[table=billing seen={'; '.join(seen)}]")


@pytest.mark.parametrize("version", ["", "3X"])
def test_a_worker_without_a_report_is_an_older_one(version: str) -> None:
    """Whatever the table says: those of KCL 3.0 to 3.4 say so in another table, and report there."""
    table = kcl_table(*OF_TWO, version=version)
    table.update(report_alive("w1", 0))
    with pytest.raises(GroupStateError, match="w2, renewing leases"):
        await_end(table, "w1", "w2")


@pytest.mark.parametrize("version", ["", *VERSIONS])
def test_an_application_that_was_stopped(version: str) -> None:
    """Its leases stand still for as long as one is valid. Without an owner they need no time."""
    assert await_end(kcl_table(*OF_TWO, version=version)) == pytest.approx(DURATION_S)
    assert await_end(kcl_table(make_lease(0), make_lease(1), version=version)) == 0


@pytest.mark.parametrize("status", ["", "COMPLETE"])
def test_beside_a_kcl_3_5(status: str) -> None:
    """Once its migrations are complete, nothing is waited for."""
    table = kcl_table(*OF_TWO, version="3X", status=status)
    for worker in ("w1", "w2"):
        table.update(report_alive(worker, 0))
    assert await_end(table, "w1", "w2") == 0


def test_workers_of_this_package_mark_their_leases() -> None:
    """One that ends deletes its report, and renews the leases of batches in hand. It is no older worker. A mark of another is none."""
    table = kcl_table(*OF_TWO, version="3X")
    mark = Namesakes("w1", DURATION_S, FakeClock()).mark
    for lease in OF_TWO:
        table.update(Update(lease.key, {}, mark))
    with pytest.raises(GroupStateError, match=r"seen=w2, renewing leases\]"):
        await_end(table, "w1", "w2")


def test_a_write_is_no_renewal() -> None:
    """It was under way when its worker was killed, or it gave the lease to another worker. Two writes for one owner are renewals."""
    older, table = OlderWorkers("billing", "python"), kcl_table(*OF_TWO)
    for change in ({}, {LEASE_OWNER: "w3"}, {}):
        assert older.look(table.scan())
        table.update(Update(OF_TWO[0].key, {}, change, add={"leaseCounter": 1}))
    assert older.look(table.scan())
    table.update(Update(OF_TWO[0].key, {}, add={"leaseCounter": 1}))
    with pytest.raises(GroupStateError, match="seen=w3, renewing leases"):
        older.look(table.scan())


@pytest.mark.parametrize("item", [{"cv": "CLIENT_VERSION_4X"}, {"cv": 3}, {}])
def test_a_state_of_a_newer_kcl(item: Item) -> None:
    """It is an error that says to use a newer version of this package, for both migrations."""
    for key in (MIGRATION, TABLE_MIGRATION):
        table = kcl_table()
        table.create(key, item)
        with pytest.raises(GroupStateError, match=r"does not know\. Use a newer version of kinesis-consumer"):
            await_end(table)
    table = kcl_table()
    table.create(MIGRATION, item)
    with pytest.raises(GroupStateError, match="does not know"):
        OlderWorkers("billing", "python").verify(table)


@pytest.mark.parametrize("version", ["", *VERSIONS, "3X"])
def test_what_a_group_writes(version: str) -> None:
    """A leader assigns the leases from now on, as a KCL 3.x writes it. What the table says already stays."""
    table = kcl_table(version=version)
    before = table.get(MIGRATION)
    write_version(table, "python", 2000)
    item = table.get(MIGRATION)
    assert item is not None
    assert item["entityType"] == "CLIENT_VERSION_MIGRATION"
    assert item["cv"] == "CLIENT_VERSION_3X"
    assert (item == before) is (version == "3X")
    assert (item["mb"], item["mts"], item["h"]) == (("w", 1, []) if version == "3X" else ("python", 2000, []))
    OlderWorkers("billing", "python").verify(table)


def test_two_that_write_at_once() -> None:
    """The one that comes later leaves what the first one has written."""

    class Hurried(MemoryTable):
        def keys_of_owner(self, owner: str) -> list[str]:
            self.update(Update(MIGRATION, {}, {"cv": "CLIENT_VERSION_3X", "mb": "first"}))
            return super().keys_of_owner(owner)

    for version in ("", "2X"):
        table = Hurried()
        if version:
            table.create(MIGRATION, {"cv": f"CLIENT_VERSION_{version}"})
        write_version(table, "second", 1)
        assert (table.get(MIGRATION) or {})["mb"] == "first"


def test_a_table_without_the_index() -> None:
    """No leader could assign leases there, so it is not said that one does."""

    class Unindexed(MemoryTable):
        def keys_of_owner(self, owner: str) -> list[str]:
            raise InvalidRequestError(f"lacks the index, so {owner} finds nothing", "ValidationException")

    table = Unindexed()
    with pytest.raises(InvalidRequestError, match="lacks the index"):
        write_version(table, "python", 1)
    assert table.scan() == []


# While a group works ----------------------------------------------------------------------------------------------


class Older:
    """A worker of the KCL 2.x: it takes leases for itself, and renews them by their counters alone."""

    def __init__(self, table: MemoryTable) -> None:
        self.table = table
        self.held: dict[str, Lease] = {}

    def take(self, key: str) -> None:
        lease = leases_of(self.table)[key]
        change = Update(
            key,
            {"leaseCounter": lease.counter},
            {LEASE_OWNER: "java"},
            ("checkpointOwner",),
            {"leaseCounter": 1},
        )
        self._write(change)

    def renew(self) -> None:
        for lease in list(self.held.values()):
            self._write(Update(lease.key, {"leaseCounter": lease.counter}, add={"leaseCounter": 1}))

    def _write(self, update: Update) -> None:
        item = self.table.update(update)
        if item is None:
            del self.held[update.key]
        else:
            self.held[update.key] = read_lease(item)


class Workers:
    """Workers of this package and an older one, in one thread."""

    def __init__(self, *names: str, records: int = 0) -> None:
        self.table, self.clock, self.stream = MemoryTable("billing"), FakeClock(), new_stream(4)
        fill(self.stream, records)
        self.java = Older(self.table)
        settings = GroupSettings(lease_duration_s=DURATION_S)
        self.members = {
            name: new_group(self.stream, self.table, worker=name, clock=self.clock, settings=settings)
            for name in names
        }
        self.errors: dict[str, GroupStateError] = {}
        self.batches: list[Batch] = []

    def run(self, seconds: int) -> None:
        for second in range(seconds):
            for name, group in self.members.items():
                group._threads.worker.leases.renew()  # also after an error, as long as a batch is in hand
                if name not in self.errors:
                    self._step(name, group)
            if second % 3 == 0:
                self.java.renew()
            self.clock.sleep(1)

    def _step(self, name: str, group: ConsumerGroup) -> None:
        """Do what the threads of a group do."""
        threads = group._threads
        for reader in threads.worker.due_readers():
            threads.worker.advance(reader)
        if (batch := threads.worker.take()) is not None:
            self.batches.append(batch)
        try:
            threads.coordinator.step()
        except GroupStateError as error:
            self.errors[name] = error
            threads.coordinator.release()


def ours(group: ConsumerGroup) -> set[str]:
    return {
        reader.held.key for reader in group._threads.worker.leases.shards.readers() if reader.held.is_ours
    }


def test_all_workers_stop_that_meet_an_older_one() -> None:
    """The leader sees it, and gives the lock up. So does each next leader. All their leases are released."""
    workers = Workers("first", "second", "third")
    workers.run(10)
    assert sum(len(ours(group)) for group in workers.members.values()) == 4
    stolen, other, *_ = sorted(leases_of(workers.table))
    workers.java.take(stolen)
    workers.java.take(other)
    workers.run(30)
    assert workers.errors.keys() == {"first", "second", "third"}
    assert all("seen=java, renewing leases" in str(error) for error in workers.errors.values())
    assert workers.java.held.keys() == {stolen, other}
    assert not any(ours(group) for group in workers.members.values())
    left = {
        key: lease.actual_owner
        for key, lease in leases_of(workers.table).items()
        if key not in {stolen, other}
    }
    assert set(left.values()) == {None}


def test_a_leader_writes_nothing_once_an_older_worker_renews() -> None:
    """A lease that becomes free then is the older application's: the leader neither assigns it nor takes another one back."""
    workers = Workers("python")
    workers.run(5)
    stolen, *_ = sorted(leases_of(workers.table))
    workers.java.take(stolen)
    coordinator = workers.members["python"]._threads.coordinator
    assert coordinator.leader.run() is not None
    for _ in range(2):
        workers.java.renew()
    before = workers.table.scan()
    with pytest.raises(GroupStateError):
        coordinator.leader.run()
    workers.java.renew()
    with pytest.raises(GroupStateError):
        coordinator.leader.watch()
    assert [item for item in before if item["leaseKey"] != stolen] == [
        item for item in workers.table.scan() if item["leaseKey"] != stolen
    ]


def test_a_batch_in_hand_is_committed_after_that() -> None:
    """The worker keeps the lease of a batch that its user has: nothing is lost, and nothing comes again."""
    workers = Workers("python", records=40)
    workers.run(10)
    assert len(workers.batches) == 4
    stolen = workers.batches[0].shard_id
    workers.java.take(stolen)
    workers.run(10)
    assert workers.errors
    assert not workers.batches[0].is_ours
    with pytest.raises(LeaseLostError):
        workers.batches[0].commit()
    for batch in workers.batches[1:]:
        assert batch.is_ours
        batch.commit()
        assert leases_of(workers.table)[batch.shard_id].checkpoint == batch.end
    workers.members["python"]._threads.coordinator.close()
    assert {lease.actual_owner for lease in leases_of(workers.table).values()} == {"java", None}


@pytest.mark.parametrize("name", VERSIONS)
def test_a_migration_that_is_rolled_back(name: str) -> None:
    """Each worker looks at what the table says within a minute, whether it leads or not."""
    workers = Workers("first", "second")
    workers.run(5)
    workers.table.update(Update(MIGRATION, {}, {"cv": f"CLIENT_VERSION_{name}"}))
    workers.run(60)
    assert workers.errors.keys() == {"first", "second"}
    for error in workers.errors.values():
        assert f"[table=billing seen={MIGRATION} says CLIENT_VERSION_{name}]" in str(error)


def test_a_worker_of_kcl_3_5_is_welcome() -> None:
    """It reports to the table, and renews its leases for as long as it likes."""
    workers = Workers("python")
    workers.run(5)
    first, *_ = sorted(leases_of(workers.table))
    for second in range(100):
        workers.table.update(report_alive("java", workers.clock.now, 30))
        if second == 0:
            workers.java.take(first)
        workers.run(1)
        workers.java.renew()
    assert not workers.errors


def test_finished_leases_count() -> None:
    """A KCL renews them as well, so one is enough to know that its worker runs."""
    table = kcl_table(make_lease(0, "w1", checkpoint=FINISHED))
    with pytest.raises(GroupStateError, match="w1, renewing leases"):
        await_end(table, "w1")
    assert table.update(renew(next(iter(leases_of(table).values())))) is not None
