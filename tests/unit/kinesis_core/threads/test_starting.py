"""Threads in a process that may have only a few, or little memory."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from functools import partial

import pytest

from kinesis_core import Producer, ProducerSettings
from kinesis_core.errors import ProcessLimitError
from kinesis_core.model import After, At, ShardRange
from kinesis_core.planning.schedule import Lanes
from kinesis_core.reading import (
    PollingRangeReader,
    RangeSource,
    ReadSettings,
    merge_by_arrival,
    read_concurrently,
)
from kinesis_core.reading.columns import UserRecord
from kinesis_core.threads import ThreadPool, start_thread, start_threads
from support.fake_puts import FakePuts
from support.scripted_stream import scripted_stream
from support.waiting import PATIENCE_S
from unit.few_threads import FewThreads
from unit.kinesis_core.slow_planner import BATCH_S, Driver, HandTimer, at

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce RLIMIT_AS")


def test_as_many_threads_as_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit all threads run at the same time."""
    system = FewThreads(100).allow(monkeypatch)
    together = threading.Barrier(5)
    for thread in start_threads(lambda: together.wait(PATIENCE_S), "kinesis-test", 5):
        thread.join(PATIENCE_S)
    assert system.started == ["kinesis-test"] * 5
    assert not together.broken


@pytest.mark.parametrize("allowed", [1, 2])
def test_fewer_threads(monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """What the system refuses is left out, once there is one thread."""
    FewThreads(allowed).allow(monkeypatch)
    assert len(start_threads(lambda: None, "kinesis-test", 5)) == allowed


def test_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any thread there is an error of this package."""
    FewThreads(0).allow(monkeypatch)
    with pytest.raises(ProcessLimitError, match="can start no further thread"):
        start_thread(lambda: None, "kinesis-test")
    with ThreadPool(4) as pool, pytest.raises(ProcessLimitError, match="can start no further thread"):
        pool.submit(lambda: None)


def test_small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool does everything with the one thread that it gets."""
    system = FewThreads(1).allow(monkeypatch)
    with ThreadPool(4, "kinesis-test") as pool:
        assert list(pool.map(str, range(20))) == [str(number) for number in range(20)]
    assert system.started == ["kinesis-test_0"]


def test_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread plans all shards."""
    FewThreads(1).allow(monkeypatch)
    lanes = Lanes(8)
    assert lanes.run_all(str.upper, ["a", "b", "c"]) == ["A", "B", "C"]
    lanes.close()


def test_planning_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that no thread can make ahead is made when it is needed."""
    monkeypatch.setattr(HandTimer, "start", _refuse)
    driver = Driver()
    for tip in (10, 20, 30):
        driver.planner.tip = tip
        driver.ask()
        driver.clock.sleep(BATCH_S)
    assert driver.timers
    assert driver.start == at(30)


def _refuse(_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread reads all shards."""
    FewThreads(1).allow(monkeypatch)
    stream = scripted_stream(4)
    for shard_id in stream.open_shards():
        stream.put_many(shard_id, 30)
    records = {shard_id: shard.records for shard_id, shard in stream.shards.items()}
    groups = [
        (ShardRange(stream.name, shard_id, At(found[0].number), After(found[-1].number)),)
        for shard_id, found in records.items()
    ]
    polling = PollingRangeReader(lambda _: stream, ReadSettings(max_records_per_fetch=10), random.Random(0))
    found = [
        record for _, page in read_concurrently(groups, polling, 16, stream.clock) for record in page.records
    ]
    assert len(found) == 4 * 30


def test_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread fetches the first records of all ranges."""
    FewThreads(1).allow(monkeypatch)
    sources = [RangeSource(partial(iter, [[_record(start), _record(start + 2)]])) for start in (1, 2, 3)]
    merged = [record.arrived_ms for records in merge_by_arrival(sources) for record in records]
    assert merged == [1, 2, 3, 3, 4, 5]


def _record(arrived_ms: int) -> UserRecord:
    return UserRecord(
        stream="orders",
        shard_id="shardId-0",
        sequence_number=str(arrived_ms),
        sub_sequence_number=0,
        partition_key="k",
        explicit_hash_key=None,
        data=b"",
        arrived_ms=arrived_ms,
        encryption_type=None,
        millis_behind=0,
    )


def test_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread writes everything."""
    system = FewThreads(1).allow(monkeypatch)
    puts = FakePuts().create(3)
    with Producer(puts, ProducerSettings(), rng=random.Random(0)) as producer:
        producer.put_columns([b"1", b"2", b"3"])
        assert producer.flush().user_records == 3
    assert puts.copies() == Counter([b"1", b"2", b"3"])
    assert len(system.started) == 1


def test_writing_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer without threads accepts no record, so that no flush waits for one."""
    FewThreads(0).allow(monkeypatch)
    puts = FakePuts().create(1)
    producer = Producer(puts, ProducerSettings(), rng=random.Random(0))
    with pytest.raises(ProcessLimitError):
        producer.put(b"1")
    assert producer.close().user_records == 0


SHARED = """
import threading
from kinesis_core.threads import find_limits, share_arenas, start_threads
from kinesis_core.threads.limits import _used_bytes

{shares}
together, kept, used_bytes = threading.Barrier(17), [], _used_bytes()

def run():
    kept.append([bytes(2000) for _ in range(100)])  # malloc's: Python's own allocator takes up to 512 bytes
    together.wait(60)

threads = start_threads(run, "kinesis-test", 16)
together.wait(60)
print((_used_bytes() - used_bytes) // (1024 * 1024))
"""


@LINUX
def test_shared_arenas() -> None:
    """Threads that share an arena reserve their stacks. Those that do not reserve an arena of 64 MiB each as well."""
    shared, own = (
        int(subprocess.check_output([sys.executable, "-c", SHARED.format(shares=shares)], text=True))
        for shares in ("share_arenas()", "")
    )
    assert own - shared > 500  # 15 arenas of 64 MiB, and room for differences between systems


KEPT = """
import resource
from kinesis_core.threads import keep_freed_memory

{keeps}

def read_pages():
    bodies = [bytearray(14_000_000) for _ in range(2)]  # this fills them with zeros
    pages = [bytearray(10_000_000) for _ in range(2)]

for _ in range(3):
    read_pages()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    read_pages()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@LINUX
def test_kept_memory() -> None:
    """
    The memory of some pages serves the next ones. Otherwise each page of 24 MB takes 5,900 pieces of 4 KiB, or 12 of 2 MiB.

    Where the address space is limited, freed memory counts. There it is not kept.
    """
    limits = "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))"
    kept, new, limited = (
        int(subprocess.check_output([sys.executable, "-c", KEPT.format(keeps=keeps)], text=True))
        for keeps in ("keep_freed_memory()", "", f"{limits}; keep_freed_memory()")
    )
    assert kept < 100 < min(new, limited)


LIMITED = """
import resource, threading
from kinesis_core.threads import find_limits, start_threads

used_bytes = find_limits().used_bytes
limit = used_bytes + {left_mib} * 1024 * 1024
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
together, kept = threading.Barrier(17), []

def run():
    kept.append([bytes(2000) for _ in range(100)])  # malloc's: Python's own allocator takes up to 512 bytes
    together.wait(60)

threads = {starts}
together.wait(60)
grown_mib = (find_limits().used_bytes - used_bytes) // (1024 * 1024)
[thread.join() for thread in threads]
print(len(kept), threading.stack_size(), grown_mib)
"""


@LINUX
@pytest.mark.parametrize(("left_mib", "most_mib"), [(96, 96), (4096, 256)])
def test_limited_address_space(left_mib: int, most_mib: int) -> None:
    """16 threads reserve less than 256 MiB of what is left, and 96 MiB do. Threads of others have the stacks that they had."""
    program = LIMITED.format(starts="start_threads(run, 'kinesis-test', 16)", left_mib=left_mib)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    threads, stack_bytes, grown_mib = map(int, ran.stdout.split())
    assert (threads, stack_bytes) == (16, 0), ran.stderr
    assert grown_mib <= most_mib
