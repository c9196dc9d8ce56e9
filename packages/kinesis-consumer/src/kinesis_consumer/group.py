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
from collections.abc import Mapping, Sequence
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
from kinesis_core import AtTimestamp, FanOutSettings, Latest, TrimHorizon, WireFormat
from kinesis_core.termination import TERMINATION
from kinesis_credentials import CredentialSpec


@define(eq=False)
class ConsumerGroup:
    """
    One worker of a consumer group. Create it with `ConsumerGroup.open`. All workers of the group share the shards of the streams.

        with ConsumerGroup.open("orders", application="billing") as group:
            for batch in group:
                print(batch.shard_id, [record.data for record in batch.records()])
                batch.commit()

    Open one in each process. Threads may share it. Its methods and its errors concern this worker only: if it stops or fails, the
    other workers read its shards. Each record is delivered at least once: a batch that is not committed is delivered again.

    The worker takes leases once the `with` block starts, and releases them at the end of the block. On SIGTERM, each
    `ConsumerGroup` of the process finishes its current batches and stops its iterations. This requires that the `with` block of
    one of them started in the main thread, and that the program does not handle SIGTERM itself.

    If this worker fails, iterations and `run` raise the error. `open`, `run` and `Batch.commit` have further errors.

    Raises:
        DataLossError: Records expired before they were read (unless `fail_on_data_loss` of `GroupSettings` is off).
        StreamNotFoundError, StreamRecreatedError: A stream was deleted, or deleted and created again.
        WorkerNameInUseError: Another running process has the name of this worker.
        GroupStateError: The leases in the store were changed so that this worker cannot use them.
        ServiceError: AWS or the store refuses a call, and a retry would not help.

    Attributes:
        application: The name of the group: the argument *application* of `open`.
        worker: The name of this worker.
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
        consumer_tags: Mapping[str, str] | None = None,
        settings: GroupSettings | None = None,
        callbacks: Callbacks | None = None,
        worker: str | None = None,
    ) -> ConsumerGroup:
        """
        Return this process's worker of the group *application*. The streams and the store of its leases are verified first.

        `open` waits up to half a minute for throttles and outages to end. If the store does not exist, `open` creates it, and waits up
        to 900 s for it. If *consumer* does not exist, `open` registers it, and waits up to 60 s. The worker takes no lease before
        the `with` block starts.

        *streams*: one stream or several, each by name or ARN. All workers of a group must name the same streams. A group that
        started with several streams can change them later. A group that started with one stream cannot: the keys of its leases are
        shard ids without a stream.
        *application*: the name of the group: 3 to 255 of the characters a-z, A-Z, 0-9, '_', '-' and '.'.
        *leases*: the store, where the group keeps its leases: `DynamoLeases()`, `SqliteLeases(path)`, `MemoryLeases()`, or the path
        of an SQLite file. The default is the lease table in DynamoDB that has the name of the application, as with the KCL.
        *region*: the default is the region of the ARN or of the endpoint, then what botocore finds.
        *endpoint_url*: the URL of Kinesis. The default is what botocore finds.
        *credentials*: the default is what botocore finds.
        *wire_format*: the format of GetRecords and GetShardIterator. `WireFormat.CBOR` needs `kinesis-core[cbor]`.
        *start*: where a new group starts: "LATEST", "TRIM_HORIZON", a time in the past such as
        "AT_TIMESTAMP 2026-01-31T09:00:00Z", a duration before now such as "3h ago", or `Latest()`, `TrimHorizon()` or `AtTimestamp(...)` of kinesis_core. A time
        longer ago than the retention is a `DataLossError` while reading. Later starts continue from the leases.
        *consumer*: the name of a registered consumer, for enhanced fan-out. It is registered if it does not exist, and never
        removed. For a single stream it may be an ARN. All workers of a group must name the same one. By default the worker polls.
        *consumer_tags*: the tags of the consumer, if it is registered: `{"team": "orders"}`. One that exists keeps its own.
        *settings*: the settings of this worker. `GroupSettings` says which ones must be equal in all workers.
        *callbacks*: functions that this worker calls when it gains or loses a shard, and with measurements.
        *worker*: a name of up to 255 characters that no other worker of the group has. The default is a new name for each worker.
        The name of a killed process can be used again: `open` then waits up to one lease duration.

        Raises:
            OptionError: An argument is malformed, a stream is given twice, or the registered consumer belongs to another stream.
            TableLayoutError: The DynamoDB table of this name is not a lease table.
            CredentialsError: No credentials or no region were found.
            StreamNotFoundError: A stream or the registered consumer does not exist.
            StreamRecreatedError: A stream was deleted and created again. The leases are of the earlier stream.
            WorkerNameInUseError: Another running process has the name *worker*.
            GroupStateError: The leases in the store do not fit *streams*, a newer version wrote them, or workers of a KCL before 3.5
                use the lease table.
            AccessDeniedError: A call is not allowed. The message names the IAM action.
            ServiceError: AWS cannot be reached, or refuses a call, or the lease table or the registered consumer is not ready in time.
        """
        verify_worker(worker)
        name = worker or f"{platform.node()}:{uuid.uuid4()}"
        names = parse_streams(streams)
        verify_consumer(consumer, names)
        verify_table_name("application", application)
        store = parse_store(leases)
        fan_out = FanOutSettings(consumer_tags=consumer_tags or {})
        verify_kind("settings", "GroupSettings(...)", settings, GroupSettings)
        verify_kind("callbacks", "Callbacks(...)", callbacks, Callbacks)
        opening = Opening(
            connect(names, region, endpoint_url, credentials, wire_format),
            application,
            name,
            settings or GroupSettings(),
            callbacks or Callbacks(),
            consumer,
            fan_out,
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
        Wait for the next batch of any shard, and return it. The iteration stops after `stop`, `close` and SIGTERM.

        Raises:
            KinesisError: This worker failed: see `ConsumerGroup`.
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
        Return how many milliseconds this worker is behind the tip: `{stream: {shard_id: milliseconds}}`.

        The lag is the lag of the last page. While no further page is read, the age of this page is added, so the lag grows. This
        happens if the current batch is not committed, if `max_buffered_bytes` is reached, or if calls fail. The result has only
        shards of this worker, from their first page to their last page.
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
        Call *handler* for each batch or each record, and commit each batch afterwards. `run` returns after `stop`, `close` and SIGTERM.

        *handler*: a function. Its argument is a `Batch`, or with `each="record"` a `UserRecord` of kinesis_core.
        *threads*: how many threads call the handler. They handle several shards at once, each shard in order.
        *retries*: how often the handler is called again after an exception, each time after a pause. Then *on_failure* decides.
        *on_failure*: with "stop" this worker fails: `run` raises a `HandlerError`. The next worker that reads the shard gets the
        same batch. `SendTo("orders-dead")` writes the batch or record to another stream. Any other function is called with the batch or
        record, and the exception. After `SendTo` or the function returns, the records count as processed.

        Raises:
            OptionError: An argument is malformed.
            HandlerError: The handler failed in all attempts, and *on_failure* is "stop", or failed too.
            KinesisError: This worker failed for another reason: see `ConsumerGroup`.
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
        """
        As `run`, for a *handler* that is a coroutine function. Up to *tasks* calls run at once. *on_failure* is called in a thread.
        """
        run = Run(self._threads, handler, Handling(retries, on_failure, each))
        with in_words_of_groups():
            await run.in_tasks(Arrivals(self._threads, warns=False), tasks)

    def stop(self) -> None:
        """
        Stop the iterations and `run` of this worker after their current batches. Call it in any thread, or in a handler.

        The leases of the current batches are kept until `close`, so that they can be committed. The other leases are released.
        """
        self._threads.stop()

    @in_words_of_groups()
    def close(self) -> None:
        """
        Stop this worker, and release all its leases. Other workers read its shards at once. Idempotent.

        A batch that is not committed is delivered again.
        """
        try:
            self._threads.close()
        finally:
            if not self._threads.is_own_thread:  # else it was only stopped
                TERMINATION.remove(self._threads)

    async def aclose(self) -> None:
        """As `close`, for a task of asyncio. A task that is cancelled still waits until the worker is closed."""
        from kinesis_consumer.waiting import in_thread

        try:
            await in_thread(self.close)
        finally:
            TERMINATION.remove(self._threads)  # here, because only the main thread can restore the default
