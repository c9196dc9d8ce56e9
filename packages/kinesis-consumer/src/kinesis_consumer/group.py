"""
Consumer groups: workers that share the shards of a stream by leases.

    with ConsumerGroup.open("orders", application="billing") as group:
        for batch in group:
            for record in batch.records():
                charge(record)
            batch.commit()
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from attrs import define, field

from kinesis_consumer.arguments import verify_kind, verify_table_name, verify_worker
from kinesis_consumer.delivery import Batch
from kinesis_consumer.handling import Handler, Handling, OnFailure, Run
from kinesis_consumer.lease_stores import LeaseStore, parse_store
from kinesis_consumer.opening import Opening, connect, parse_start, parse_streams, verify_consumer
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.words import in_words_of_groups
from kinesis_consumer.worker import Arrivals, Callbacks, WorkerThreads
from kinesis_core import AtTimestamp, Latest, TrimHorizon, WireFormat
from kinesis_core.termination import TERMINATION
from kinesis_credentials import CredentialSpec


@define(eq=False)
class ConsumerGroup:
    """
    One worker of a group. Open one in each process; threads may share it.

    It starts to work at the start of the `with` block, and releases its leases at the end. On SIGTERM, all groups of the process
    finish their current batches and end their iterations. This requires that the `with` block of one group started in the main
    thread, and that the program does not handle SIGTERM itself.
    """

    application: str
    worker: str
    _threads: WorkerThreads
    _arrivals: Arrivals = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._arrivals = Arrivals(self._threads)

    def __repr__(self) -> str:
        return f"<ConsumerGroup {self.application}, worker {self.worker}>"

    @classmethod
    @in_words_of_groups()
    def open(
        cls,
        streams: str | Sequence[str],
        application: str,
        *,
        leases: LeaseStore | str | Path | None = None,
        region: str | None = None,
        endpoint_url: str | None = None,
        credentials: CredentialSpec | None = None,
        wire_format: WireFormat = WireFormat.JSON,
        start: str | AtTimestamp | Latest | TrimHorizon = "LATEST",
        consumer: str | None = None,
        settings: GroupSettings | None = None,
        callbacks: Callbacks | None = None,
        worker: str | None = None,
    ) -> ConsumerGroup:
        """
        Return a worker of the group *application*. The streams and the table of leases are verified first.

        This waits up to half a minute for throttles and outages to end. It creates a missing table (it waits up to 900 s for it) and
        registers a missing consumer (up to 60 s). It takes no lease: the worker takes leases once the group is entered.

        *streams*: one stream or several, each by name or ARN. All workers of a group must name the same streams. A group that
        started with several streams can change them later. A group that started with one stream cannot, because its leases do not
        name the stream.
        *application*: the name of the group: 3 to 255 of the characters a-z, A-Z, 0-9, '_', '-' and '.'.
        *leases*: where the group keeps its leases. The default is DynamoDB, in the table of the application, as with the KCL. A path
        names a file of SQLite.
        *region*: the default is the region of the ARN or of the endpoint, then what botocore finds.
        *credentials*: the default is what botocore finds.
        *wire_format*: the format of GetRecords and GetShardIterator. `WireFormat.CBOR` needs `kinesis-core[cbor]`.
        *start*: where a new group starts: LATEST, TRIM_HORIZON, or AT_TIMESTAMP with a time in the past. Later starts continue from the
        leases.
        *consumer*: the name of the consumer for enhanced fan-out. It is registered if it does not exist, and never removed. For a single
        stream it may be an ARN. All workers of a group must name the same consumer. By default the group polls.
        *worker*: a name of up to 255 characters that no other worker of the group has. The default is a new name for each process. The
        name of a killed process can be used again: `open` then waits up to one lease duration.

        Raises:
            OptionError: An argument is malformed, a stream is given twice, or the consumer belongs to another stream.
            TableLayoutError: The table of that name in DynamoDB is not a table of leases.
            CredentialsError: No credentials or no region were found.
            StreamNotFoundError: A stream or the consumer does not exist.
            StreamRecreatedError: The leases are of a stream that was deleted before this one was created.
            WorkerNameInUseError: Another running process has the name *worker*.
            GroupStateError: The leases in the table do not fit *streams*, a newer version wrote them, or workers of a KCL before 3.5 use
                the table.
            AccessDeniedError: A call is not allowed. The message names the IAM action.
            ServiceError: AWS cannot be reached, or refuses a call, or the table or the consumer is not ready in time.
        """
        verify_worker(worker)
        name = worker or f"{platform.node()}:{uuid.uuid4()}"
        names = parse_streams(streams)
        verify_consumer(consumer, names)
        verify_table_name("application", application)
        store = parse_store(leases)
        verify_kind("settings", "GroupSettings(...)", settings, GroupSettings)
        verify_kind("callbacks", "Callbacks(...)", callbacks, Callbacks)
        opening = Opening(
            connect(names, region, endpoint_url, credentials, wire_format),
            application,
            name,
            settings or GroupSettings(),
            callbacks or Callbacks(),
            consumer,
        )
        threads = opening.threads(store, parse_start(start))
        return cls(application, name, threads)

    @in_words_of_groups()
    def __enter__(self) -> ConsumerGroup:
        self._threads.start()
        TERMINATION.add(self._threads)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> ConsumerGroup:
        return self.__enter__()  # it only starts threads

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __iter__(self) -> ConsumerGroup:
        return self

    @in_words_of_groups()
    def __next__(self) -> Batch:
        """
        Return the next batch of any shard, and wait for it. The iteration ends after `stop`, `close` and SIGTERM.

        Raises:
            DataLossError: Records expired before they were read (unless `fail_on_data_loss` is off).
            ServiceError: AWS refuses a call permanently.
        """
        return next(self._arrivals)

    def __aiter__(self) -> ConsumerGroup:
        return self

    async def __anext__(self) -> Batch:
        """Return the next batch, as an iteration does. Nothing is lost if the task is cancelled while it waits."""
        with in_words_of_groups():
            return await anext(self._arrivals)

    def lag(self) -> dict[str, dict[str, int]]:
        """
        Return, by stream and shard, how many milliseconds this worker is behind the tip.

        The lag is the lag of the last page. While no further page is read, the age of this page is added, so the lag grows. This
        happens if the current batch is not committed, the memory is full, or calls fail. A shard is left out before its first
        page and after its last page.
        """
        return self._threads.worker.lag()

    @in_words_of_groups()
    def run(
        self,
        handler: Handler,
        *,
        threads: int = 8,
        retries: int = 3,
        on_failure: Literal["stop"] | OnFailure = "stop",
        each: Literal["batch", "record"] = "batch",
    ) -> None:
        """
        Call *handler* for each batch or each record, and commit each batch afterwards. `run` ends when an iteration would end.

        *threads* handle several shards at once, each shard in order. A handler that raises an exception is called again after a
        pause, up to *retries* times. Then *on_failure* decides. "stop" ends the group with an error. A function is called with
        the batch or record and the exception. When it returns, the records count as processed.

        Raises:
            OptionError: An argument is malformed.
            HandlerError: The handler failed in all attempts.
            DataLossError, ServiceError: As in an iteration.
        """
        run = Run(self._threads, handler, Handling(retries, on_failure, each))
        run.in_threads(Arrivals(self._threads, warns=False), threads)  # they may take as long as they need

    async def run_async(
        self,
        handler: Handler,
        *,
        tasks: int = 8,
        retries: int = 3,
        on_failure: Literal["stop"] | OnFailure = "stop",
        each: Literal["batch", "record"] = "batch",
    ) -> None:
        """As `run`, for a *handler* that is a coroutine function. *on_failure* is called in a thread."""
        run = Run(self._threads, handler, Handling(retries, on_failure, each))
        with in_words_of_groups():
            await run.in_tasks(Arrivals(self._threads, warns=False), tasks)

    def stop(self) -> None:
        """End all iterations after the current batches. Leases are kept until `close`."""
        self._threads.stop()

    @in_words_of_groups()
    def close(self) -> None:
        """
        Release all leases, so that other workers can take them at once. Batches that are not committed are delivered again. Idempotent.
        """
        try:
            self._threads.close()
        finally:
            if not self._threads.is_own_thread:  # else it was only stopped
                TERMINATION.remove(self._threads)

    async def aclose(self) -> None:
        """As `close`, for a task of asyncio. A task that is cancelled still waits until the group is closed."""
        from kinesis_consumer.waiting import in_thread

        try:
            await in_thread(self.close)
        finally:
            TERMINATION.remove(self._threads)  # here, because only the main thread can restore the default
