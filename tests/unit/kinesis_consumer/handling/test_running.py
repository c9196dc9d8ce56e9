"""Handlers: how often they are tried, in which threads and tasks, and what follows when they fail."""

from __future__ import annotations

import asyncio
import copy
import pickle
import random
import re
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from attrs import define, field

from kinesis_consumer import Batch, BatchId, ConsumerGroup, HandlerError, LeaseLostError
from kinesis_consumer.handling import Handling, Run
from kinesis_consumer.stores import MemoryTable
from kinesis_core import AccessDeniedError, OptionError, UserRecord
from kinesis_core.leases import LeaseCheckpoint
from kinesis_core.model import After, Page, Record, ShardOffset, TrimHorizon
from kinesis_core.planning import ShardPage
from support.consumer_groups import fill, leases_of, new_group, new_stream
from support.fake_stream import FakeClock
from support.waiting import PATIENCE_S

SHARD = "shardId-000000000000"
Seen = list[Any]


@define
class FakeWorker:
    """The threads of a worker that waits without waiting, and owns the batches of a test."""

    clock: FakeClock = field(factory=FakeClock)
    is_stopping: bool = False
    changes: int = 0
    has_lease: bool = True
    refusal: AccessDeniedError | None = None
    """Why commits fail."""
    committed: list[str] = field(factory=list)
    waited_s: list[float] = field(factory=list)
    on_wait: Callable[[], None] = lambda: None

    @property
    def worker(self) -> FakeWorker:
        return self

    def stop(self) -> None:
        self.is_stopping = True

    def wait(self, _: int, seconds: float) -> None:
        self.waited_s.append(seconds)
        self.clock.sleep(seconds)
        self.on_wait()

    async def wait_async(self, seen: int, seconds: float) -> None:
        self.wait(seen, seconds)

    def commit(self, batch: Batch) -> None:
        if batch.is_committed:
            return
        if not self.has_lease:
            raise LeaseLostError("another worker has it", SHARD)
        if self.refusal is not None:
            batch.may_be_committed = True
            raise self.refusal
        batch.is_committed = True
        self.committed.append(batch.id.last)

    def is_ours(self, batch: Batch) -> bool:
        return self.has_lease and not batch.is_committed

    def batch(self, *data: bytes) -> Batch:
        records = [Record(str(number), each, "k") for number, each in enumerate(data, start=1)]
        first, last = LeaseCheckpoint("1"), LeaseCheckpoint(str(len(data)))
        start, end = ShardOffset(TrimHorizon()), ShardOffset(After(len(data)))
        page = ShardPage(Page(records, 0), start, end, is_tip=True, is_last=False)
        return Batch(BatchId("orders", SHARD, "1", last.number), first, last, 2, [page], self)

    def run(self, handler: Callable[[Any], Any], *batches: Batch, **handling: Any) -> None:
        """Run *handler* in one thread."""
        self._run(handler, handling).in_threads(iter(batches), 1)

    def run_async(self, handler: Callable[[Any], Any], *batches: Batch, **handling: Any) -> None:
        """Run the coroutine function *handler* in one task."""

        async def given() -> AsyncIterator[Batch]:
            for batch in batches:
                yield batch

        asyncio.run(self._run(handler, handling).in_tasks(given(), 1))

    def _run(self, handler: Callable[[Any], Any], handling: dict[str, Any]) -> Run:
        chosen = {"retries": 3, "on_failure": "stop", "each": "batch", "rng": random.Random(1), **handling}
        return Run(self, handler, Handling(**chosen))  # type: ignore[arg-type]


@pytest.fixture
def worker() -> FakeWorker:
    return FakeWorker()


Way = Callable[..., None]


@pytest.fixture(params=["threads", "tasks"])
def run(request: pytest.FixtureRequest) -> Way:
    """Runs a function as a handler: in a thread, or as a coroutine function in a task."""

    def chosen(worker: FakeWorker, handler: Callable[[Any], Any], *batches: Batch, **handling: Any) -> None:
        async def handler_async(unit: Any) -> None:
            handler(unit)

        if request.param == "threads":
            worker.run(handler, *batches, **handling)
        else:
            worker.run_async(handler_async, *batches, **handling)

    return chosen


def fails(times: int, seen: Seen | None = None) -> Callable[[Any], None]:
    """Return a handler that raises so many times, and notes what it gets."""
    left = iter(range(times))

    def handler(unit: Any) -> None:
        if seen is not None:
            seen.append(unit)
        if next(left, None) is not None:
            raise ZeroDivisionError("of the handler")

    return handler


# Batches and records ---------------------------------------------------------------------------------------------


def test_batches_are_committed_after_their_handler(run: Way, worker: FakeWorker) -> None:
    """Each batch is committed once its handler has returned."""
    seen: Seen = []
    run(worker, lambda batch: seen.append((batch, [*worker.committed])), one := worker.batch(b"x"))
    assert seen == [(one, [])]
    assert worker.committed == ["1"]


def test_a_handler_of_records_gets_each(run: Way, worker: FakeWorker) -> None:
    """With `each="record"` the handler gets the records in order, and the batch is committed after the last one."""
    seen: list[tuple[bytes, int]] = []
    handler = lambda record: seen.append((record.data, len(worker.committed)))  # noqa: E731 # shorter
    run(worker, handler, worker.batch(b"x", b"y"), each="record")
    assert seen == [(b"x", 0), (b"y", 0)]
    assert worker.committed == ["2"]


# Failures --------------------------------------------------------------------------------------------------------


def test_a_handler_that_fails_is_tried_again_after_pauses(run: Way, worker: FakeWorker) -> None:
    """It gets the same batch again, after pauses that double, shortened by chance to a half at most."""
    seen: Seen = []
    batch = worker.batch(b"x")
    run(worker, fails(3, seen), batch)
    assert seen == [batch] * 4
    assert worker.committed == ["1"]
    assert [longest / 2 <= s <= longest for s, longest in zip(worker.waited_s, (1, 2, 4), strict=True)] == [
        True
    ] * 3


def test_only_the_record_that_fails_is_handled_again(run: Way, worker: FakeWorker) -> None:
    """With `each="record"` the records before the failing one are not handled again."""
    seen: list[bytes] = []
    attempts = fails(1)

    def handler(record: UserRecord) -> None:
        seen.append(record.data)
        if record.data == b"y":
            attempts(record)

    run(worker, handler, worker.batch(b"x", b"y", b"z"), each="record")
    assert seen == [b"x", b"y", b"y", b"z"]


def test_a_failure_for_good_stops_the_group(run: Way, worker: FakeWorker) -> None:
    """By default the error surfaces after the last attempt. The batch is not committed, and no further one is handled."""
    seen: Seen = []
    first, second = worker.batch(b"x"), worker.batch(b"x", b"y")
    with pytest.raises(
        HandlerError,
        match=r"failed 2 times for the batch with ZeroDivisionError\. The batch is not committed",
    ) as error:
        run(worker, fails(9, seen), first, second, retries=1)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert (error.value.stream, error.value.shard_id, error.value.batch_id, error.value.attempts) == (
        "orders",
        SHARD,
        f"orders:{SHARD}:1:1",
        2,
    )
    assert seen == [first, first]
    assert (worker.committed, worker.is_stopping) == ([], True)


def test_a_failure_names_the_record(run: Way, worker: FakeWorker) -> None:
    """The error for a record names its number, and the batch that holds it."""
    with pytest.raises(HandlerError, match=rf"for record 1/0 with .*batch=orders:{SHARD}:1:2"):
        run(worker, fails(9), worker.batch(b"x", b"y"), retries=0, each="record")


def test_on_failure_gets_what_failed_and_its_records_are_done(run: Way, worker: FakeWorker) -> None:
    """A function as `on_failure` gets the batch and the exception. When it returns, the batch is committed."""
    diverted: list[tuple[Any, str]] = []
    batch = worker.batch(b"x")
    run(
        worker, fails(1), batch, retries=0, on_failure=lambda unit, error: diverted.append((unit, str(error)))
    )
    assert diverted == [(batch, "of the handler")]
    assert worker.committed == ["1"]


def test_on_failure_gets_a_single_record(run: Way, worker: FakeWorker) -> None:
    """With `each="record"` it gets the record, and the records after it are handled."""
    seen: list[bytes] = []
    diverted: list[bytes] = []

    def handler(record: UserRecord) -> None:
        seen.append(record.data)
        if record.data == b"x":
            raise ZeroDivisionError

    on_failure = lambda record, _: diverted.append(record.data)  # noqa: E731 # shorter
    run(worker, handler, worker.batch(b"x", b"y"), retries=0, each="record", on_failure=on_failure)
    assert (seen, diverted, worker.committed) == ([b"x", b"y"], [b"x"], ["2"])


def test_on_failure_that_raises_stops_the_group(run: Way, worker: FakeWorker) -> None:
    """The records are neither handled nor diverted, so the batch is not committed."""

    def on_failure(_: Any, __: Exception) -> None:
        raise KeyError("of on_failure")

    with pytest.raises(
        HandlerError, match=r"with ZeroDivisionError, and so did 'on_failure' with KeyError\."
    ) as error:
        run(worker, fails(1), worker.batch(b"x"), retries=0, on_failure=on_failure)
    assert isinstance(error.value.__cause__, KeyError)
    assert worker.committed == []


@pytest.mark.parametrize("is_diverted", [False, True])
def test_a_failure_for_good_shows_no_data(run: Way, is_diverted: bool, worker: FakeWorker) -> None:
    """The text of the user's exceptions may hold data of records, so the error does not repeat it. It pickles and copies whole."""

    def fail(*_: Any) -> None:
        raise ValueError("card 4111-1111")

    on_failure = fail if is_diverted else "stop"
    with pytest.raises(HandlerError) as raised:
        run(worker, fail, worker.batch(b"card 4111-1111"), retries=0, on_failure=on_failure)
    unpickled = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own bytes
    for error in (raised.value, unpickled, copy.copy(raised.value)):
        assert "4111" not in f"{error!s} {error!r}"
        assert str(error) == str(raised.value)
        assert (error.batch_id, error.attempts) == (f"orders:{SHARD}:1:1", 1)


# Lost leases -----------------------------------------------------------------------------------------------------


def test_a_handler_that_finds_its_lease_lost_is_not_tried_again(run: Way, worker: FakeWorker) -> None:
    """A `LeaseLostError` of this very batch drops it: it is not committed."""
    seen: Seen = []

    def handler(batch: Batch) -> None:
        seen.append(batch.id.last)
        worker.has_lease = False
        raise LeaseLostError("found by the handler", SHARD)

    run(worker, handler, worker.batch(b"x"))
    assert (seen, worker.committed) == (["1"], [])


def test_a_lost_lease_of_another_group(run: Way, worker: FakeWorker) -> None:
    """A `LeaseLostError` of something else is an exception as any other: the handler is called again."""
    seen: Seen = []

    def handler(batch: Batch) -> None:
        seen.append(batch.id.last)
        if len(seen) == 1:
            raise LeaseLostError("of another group", SHARD)

    run(worker, handler, worker.batch(b"x"))
    assert (seen, worker.committed) == (["1", "1"], ["1"])


def test_a_handler_that_returns_a_coroutine(worker: FakeWorker) -> None:
    """`run` commits nothing for a function that only returns a coroutine: nobody would await it."""

    async def process(_: Batch) -> None:
        raise NotImplementedError

    with pytest.raises(OptionError, match="run_async"):
        worker.run(lambda batch: process(batch), worker.batch(b"x"))
    assert worker.committed == []


def test_a_plain_handler_of_tasks(worker: FakeWorker) -> None:
    """`run_async` refuses a function that returns nothing to await."""
    with pytest.raises(OptionError, match=r"group\.run\("):
        worker.run_async(lambda _: None, worker.batch(b"x"))
    assert worker.committed == []


def test_an_on_failure_that_returns_a_coroutine(run: Way, worker: FakeWorker) -> None:
    """Records do not count as processed by an `on_failure` that nobody awaits."""

    async def on_failure(_: Any, __: Exception) -> None:
        raise NotImplementedError

    with pytest.raises(HandlerError, match="returned an awaitable"):
        run(worker, fails(1), worker.batch(b"x"), retries=0, on_failure=on_failure)
    assert worker.committed == []


def test_the_rest_of_a_batch_is_dropped_with_its_lease(run: Way, worker: FakeWorker) -> None:
    """With `each="record"` no further record is handled once another worker has the shard."""
    seen: list[bytes] = []

    def handler(record: UserRecord) -> None:
        seen.append(record.data)
        worker.has_lease = record.data != b"y"

    run(worker, handler, worker.batch(b"x", b"y", b"z"), each="record")
    assert (seen, worker.committed) == ([b"x", b"y"], [])


def test_a_lease_that_is_lost_during_a_pause(run: Way, worker: FakeWorker) -> None:
    """There is no further attempt, and no error: another worker has the batch."""
    worker.on_wait = lambda: setattr(worker, "has_lease", False)
    seen: Seen = []
    run(worker, fails(9, seen), worker.batch(b"x"))
    assert (len(seen), worker.committed) == (1, [])


def test_a_failure_without_a_lease_is_nobodys(run: Way, worker: FakeWorker) -> None:
    """A last attempt that fails because another worker has the shard stops nothing, and diverts nothing."""
    diverted: Seen = []

    def handler(_: Batch) -> None:
        worker.has_lease = False
        raise ZeroDivisionError

    run(worker, handler, worker.batch(b"x"), retries=0, on_failure=lambda *each: diverted.append(each))
    assert (diverted, worker.committed) == ([], [])


def test_the_end_of_the_group_ends_a_pause(run: Way, worker: FakeWorker) -> None:
    """When the group stops while a handler is to be tried again, its batch is dropped: it is delivered again."""
    worker.on_wait = worker.stop
    seen: Seen = []
    run(worker, fails(9, seen), worker.batch(b"x"))
    assert (len(seen), len(worker.waited_s), worker.committed) == (1, 1, [])


def test_a_handler_may_commit_by_itself(run: Way, worker: FakeWorker) -> None:
    """A handler that commits its batch and then fails is tried again as any other."""
    seen: Seen = []
    failing = fails(1, seen)

    def handler(batch: Batch) -> None:
        batch.commit()
        failing(batch)

    run(worker, handler, worker.batch(b"x"))
    assert (len(seen), worker.committed) == (2, ["1"])


@pytest.mark.parametrize(
    ("error", "fate"),
    [
        (None, "The batch is committed."),
        (AccessDeniedError("no"), "is delivered again, unless the handler's own commit was written."),
    ],
)
def test_a_handler_that_commits_and_fails_for_good(
    run: Way, error: AccessDeniedError | None, fate: str, worker: FakeWorker
) -> None:
    """The error says what is known of the commit."""
    worker.refusal = error

    def handler(batch: Batch) -> None:
        batch.commit()
        raise ZeroDivisionError

    with pytest.raises(HandlerError, match=re.escape(fate)):
        run(worker, handler, worker.batch(b"x"), retries=0)


# Arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"each": "page"}, "'each' is 'page'. Use 'batch' or 'record'"),
        ({"on_failure": "skip"}, "'on_failure' is 'skip'. Use 'stop' or a function"),
        ({"retries": -1}, "'retries' is -1. Use 0 or more"),
        ({"threads": 0}, "'threads' is 0. Use 1 or more"),
        ({"threads": "8"}, "'threads' is '8'. Use 1 or more"),
        ({"retries": 1.5}, "'retries' is 1.5. Use 0 or more"),
        ({"retries": True}, "'retries' is True. Use 0 or more"),
        ({"on_failure": None}, "'on_failure' is None. Use 'stop' or a function"),
        ({"handler": None}, "'handler' is None. Use a function of a batch or a record"),
        ({"tasks": True}, "'tasks' is True. Use 1 or more"),
        ({"tasks": 0}, "'tasks' is 0. Use 1 or more"),
        ({"handler": None, "tasks": 1}, "'handler' is None. Use a function of a batch or a record"),
    ],
)
def test_arguments_of_run(argument: dict[str, Any], message: str) -> None:
    """A malformed argument is an error at once, which names the argument and what it accepts."""

    async def handler(_: Batch) -> None: ...

    def run(group: ConsumerGroup) -> None:
        if "tasks" in argument:
            asyncio.run(group.run_async(**{"handler": handler, **argument}))
        else:
            group.run(**{"handler": print, **argument})

    with new_group(new_stream()) as group, pytest.raises(OptionError, match=message):
        run(group)


def test_a_handler_of_the_wrong_kind() -> None:
    """`run` wants a function, and `run_async` a coroutine function; each error names the other method."""

    async def coroutine_function(_: Batch) -> None: ...

    with new_group(new_stream()) as group:
        with pytest.raises(OptionError, match="run_async"):
            group.run(coroutine_function)
        with pytest.raises(OptionError, match=r"group\.run\("):
            asyncio.run(group.run_async(print))


# Groups ----------------------------------------------------------------------------------------------------------


@define
class Handled:
    """A handler of records that stops its group after some of them, and notes in which order they came."""

    group: ConsumerGroup
    count: int
    by_shard: dict[str, list[bytes]] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def __call__(self, record: UserRecord) -> None:
        with self._lock:
            self.by_shard.setdefault(record.shard_id, []).append(record.data)
            if sum(map(len, self.by_shard.values())) == self.count:
                self.group.stop()


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "tasks"])
def test_each_shard_is_handled_in_order(is_async: bool) -> None:
    """In several threads or tasks the records of one shard come in its order, and all are committed at the end."""
    stream, table = new_stream(3), MemoryTable()
    fill(stream, 60)
    with new_group(stream, table) as group:
        handler = Handled(group, 60)

        async def handler_async(record: UserRecord) -> None:
            handler(record)

        if is_async:
            asyncio.run(group.run_async(handler_async, tasks=4, each="record"))
        else:
            group.run(handler, threads=4, each="record")
    assert handler.by_shard == {
        shard_id: [record.data for record in shard.records] for shard_id, shard in stream.shards.items()
    }
    last = {shard_id: shard.records[-1].sequence_number for shard_id, shard in stream.shards.items()}
    assert {key: lease.checkpoint.number for key, lease in leases_of(table).items()} == last


def test_several_shards_are_handled_at_once() -> None:
    """Handlers of two shards run at the same time: each waits for the other one."""
    stream = new_stream(2)
    fill(stream, 2)
    both = threading.Barrier(2)
    with new_group(stream) as group:

        def handler(_: Batch) -> None:
            both.wait(PATIENCE_S)
            group.stop()

        group.run(handler, threads=2, retries=0)


def test_an_error_ends_all_threads() -> None:
    """A handler that fails for good ends the run in all threads, and another shard's batch in hand is committed."""
    stream, table = new_stream(2), MemoryTable()
    fill(stream, 2)
    failing, other = stream.shards
    both = threading.Barrier(2)

    def handler(batch: Batch) -> None:
        both.wait(PATIENCE_S)
        if batch.shard_id == failing:
            raise ZeroDivisionError

    with pytest.raises(HandlerError), new_group(stream, table) as group:
        group.run(handler, threads=2, retries=0)
    assert {key: lease.checkpoint.is_number for key, lease in leases_of(table).items()} == {
        failing: False,
        other: True,
    }


def test_a_cancelled_run_commits_no_batch_in_hand() -> None:
    """A task that is cancelled in its handler leaves the batch uncommitted: it is delivered again."""
    stream, table = new_stream(), MemoryTable()
    fill(stream, 1)

    async def program(group: ConsumerGroup) -> None:
        begun = asyncio.Event()

        async def handler(_: Batch) -> None:
            begun.set()
            await asyncio.Event().wait()

        running = asyncio.ensure_future(group.run_async(handler, tasks=2))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with new_group(stream, table) as group:
        asyncio.run(program(group))
    with new_group(stream, table, worker="worker-2") as group:
        assert [record.data for record in next(group).records()] == [b"0"]


def test_idle_tasks_take_no_threads() -> None:
    """Tasks that wait for batches leave the threads of the event loop to the program, and to commits."""

    calls: list[str] = []

    class Counted(ThreadPoolExecutor):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            calls.append(getattr(function, "func", function).__name__)
            return super().submit(function, *args, **kwargs)

    stream = new_stream()

    async def program(group: ConsumerGroup) -> None:
        asyncio.get_running_loop().set_default_executor(Counted(1))

        async def handler(_: Batch) -> None:
            group.stop()

        running = asyncio.ensure_future(group.run_async(handler, tasks=4))
        for _ in range(1000):  # all tasks begin at once
            await asyncio.sleep(0)
        assert len(group._threads.shards.listeners) == 4
        fill(stream, 1)
        await running

    with new_group(stream) as group:
        asyncio.run(program(group))
    assert calls == ["run"]  # the context of the commit


@pytest.mark.parametrize(
    ("each", "data", "record"),
    [("record", [b"secret"], " sequence=1 sub_sequence=0"), ("batch", [b"secret", b"2"], "")],
)
def test_the_log_names_what_is_diverted(
    worker: FakeWorker, caplog: pytest.LogCaptureFixture, each: str, data: list[bytes], record: str
) -> None:
    """It says where a record is, so that it can be found, and nothing of its data or key. A handler of batches has no record."""
    worker.run(fails(9), worker.batch(*data), retries=0, each=each, on_failure=lambda *_: None)
    where = f"batch=orders:{SHARD}:1:{len(data)} stream=orders shard={SHARD}{record}"
    assert [line.getMessage() for line in caplog.records] == [
        f"handler.failed {where} attempt=1 error=ZeroDivisionError",
        f"records.diverted {where} error=ZeroDivisionError",
    ]
