"""An application of the KCL in a test: its stream, its lease table, and the workers that the test starts."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, field

from kinesis_core import Producer, ProducerSettings, Stream, UserRecord
from kinesis_emulator import EmulatorProcess
from support.kcl.dynamodb_local import DynamoDbLocal, Item
from support.kcl.event_process import EventProcess, EventProcessError
from support.kcl.group_worker import Delivered, GroupWorker
from support.kcl.python_worker import PythonOptions, start_python
from support.kcl.verdict import Verdict, judge
from support.kcl.worker import PROGRAMS, KclOptions, KclWorker, Version
from support.streams import StreamUnderTest, connection_to

W = TypeVar("W", bound=GroupWorker)
_names = itertools.count()


@define(eq=False)
class KclApplication:
    """A context manager that kills the workers at the end."""

    dynamodb: DynamoDbLocal
    kinesis_url: str
    folder: Path
    """For the logs of the workers."""
    shards: int = 2
    name: str = field(factory=lambda: f"application-{next(_names)}")
    """Also the name of the lease table. The stream is named `stream-of-` and this."""
    stream: StreamUnderTest = field(init=False)
    workers: list[GroupWorker] = field(factory=list, init=False)
    sent: list[str] = field(factory=list, init=False)
    """The data of all user records that were put, in their order."""

    def __attrs_post_init__(self) -> None:
        self.stream = StreamUnderTest(self.kinesis_url, f"stream-of-{self.name}", self.shards)

    def __enter__(self) -> KclApplication:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.kill()
        self.stream.client.close()

    def create_table(self) -> None:
        """Create the lease table with its index, for which KCL 3 would wait for 10 s."""
        self.dynamodb.create_lease_table(self.name)

    def start(self, version: Version, worker: str = "worker", **options: Any) -> KclWorker:
        """Start a worker, and return at once. *options* are those of `KclOptions`."""
        wanted = KclOptions(version=version, **self._wanted(worker, options))
        return self.watched(KclWorker.start(wanted, self._log(worker)))

    def start_python(self, worker: str, **options: Any) -> GroupWorker:
        """Start a worker of this project, and return at once. *options* are those of `PythonOptions`."""
        return self.watched(start_python(PythonOptions(**self._wanted(worker, options)), self._log(worker)))

    def _wanted(self, worker: str, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "application": self.name,
            "stream": self.stream.name,
            "kinesis_url": self.kinesis_url,
            "dynamodb_url": self.dynamodb.endpoint_url,
            "worker": worker,
            **options,
        }

    def watched(self, worker: W) -> W:
        """Let a worker have a last event with the leases that it left behind."""
        worker.process.at_end = lambda: {"event": "left", "leases": self._checkpoints()}
        self.workers.append(worker)
        return worker

    def _log(self, worker: str) -> Path:
        return self.folder / f"{worker}-{len(self.workers)}.log"

    def put(self, count: int, *, keys: int = 20, aggregate_bytes: int = 300) -> list[str]:
        """Put *count* further user records, numbered on, in aggregates of about ten; 0 bytes put plain records."""
        first = len(self.sent)
        rows = [str(number) for number in range(first, first + count)]
        settings = ProducerSettings(
            aggregation_enabled=aggregate_bytes > 0, aggregation_max_size=max(64, aggregate_bytes)
        )
        with Producer.open(
            self.stream.name,
            **connection_to(self.kinesis_url),
            settings=settings,
        ) as producer:
            producer.put_columns([row.encode() for row in rows], [f"key-{int(row) % keys}" for row in rows])
        self.sent += rows
        return rows

    def stored(self) -> list[UserRecord]:
        """Return all user records in the stream, read without a group."""
        with Stream.open(self.stream.name, **connection_to(self.kinesis_url)) as stream:
            return list(stream.read("TRIM_HORIZON").records())

    @contextmanager
    def load(self) -> Iterator[None]:
        """Put records all the time while the block runs. Not while shards are split or merged."""
        is_over = threading.Event()

        def put() -> None:
            while not is_over.wait(0.1):
                self.put(30)

        with ThreadPoolExecutor(1) as pool:
            putting = pool.submit(put)
            try:
                yield
            finally:
                is_over.set()
                putting.result()

    def delivered(self) -> list[Delivered]:
        """Return all user records that the workers have had until now, worker by worker."""
        return [record for worker in self.workers for record in worker.records()]

    def wait_all_delivered(self) -> list[Delivered]:
        """Return what the workers had, once all that was put has been delivered. One worker has to run."""
        wanted = set(self.sent)
        self._any_running().wait_until(lambda: wanted <= {record.data for record in self.delivered()})
        return self.delivered()

    def verdict(self) -> Verdict:
        """Judge all that the workers did until now."""
        printed = [worker.process.events() for worker in self.workers]
        return judge(printed, self.sent, self._checkpoints())

    def last_verdict(self) -> Verdict:
        """Judge once all that was put is committed, or when nobody has committed anything for a long time. One worker has to run."""
        while (verdict := self.verdict()).open:
            try:
                self._wait_until_open(verdict.open - 1)
            except EventProcessError:
                break
        return verdict

    def _wait_until_open(self, count: int) -> None:
        self._any_running().wait_until(lambda: self.verdict().open <= count)

    def _any_running(self) -> EventProcess:
        running = [worker.process for worker in self.workers if not worker.process.is_over]
        assert running, "every worker has ended"
        return running[0]

    def items(self) -> dict[str, Item]:
        return self.dynamodb.items(self.name)

    def leases(self) -> dict[str, Item]:
        return self.dynamodb.leases(self.name)

    def _checkpoints(self) -> dict[str, Item]:
        """Return all leases, and instead of those that open shards lack such that say that nothing was read."""
        unread = {shard["ShardId"]: {"checkpoint": "TRIM_HORIZON"} for shard in self.stream.open_shards()}
        try:
            return unread | self.leases()
        except (
            self.dynamodb.client.exceptions.ResourceNotFoundException
        ):  # no worker came so far as to make it
            return unread


def archive_classes(version: Version, dynamodb: DynamoDbLocal, folder: Path) -> None:
    """Let a worker read once, so that the JVMs of all later ones begin with the classes that it has loaded."""

    def run(made: Path) -> None:
        with (
            EmulatorProcess() as kinesis,
            KclApplication(dynamodb, kinesis.endpoint_url, folder) as application,
        ):
            application.create_table()
            application.put(100)
            worker = application.start(version, loaded=made)
            worker.wait_records(100)
            worker.stop(graceful=False)

    PROGRAMS[version].install().record(run)


def repeated(records: Iterable[Delivered]) -> list[str]:
    """Return the data of the user records that came more than once."""
    seen: set[str] = set()
    twice = []
    for record in records:
        if record.data in seen:
            twice.append(record.data)
        seen.add(record.data)
    return twice
