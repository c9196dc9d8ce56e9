"""
Functions that process batches: tried again after an exception, and never skipped in silence.

The steps for one batch are a generator, so that threads and tasks of asyncio follow the same steps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable
from inspect import isawaitable, iscoroutine
from typing import Any, Literal

from attrs import define, field, frozen

from kinesis_consumer.arguments import refused, verify_connection
from kinesis_consumer.delivery import Batch
from kinesis_consumer.errors import HandlerError
from kinesis_core import OptionError, Producer, UserRecord, WireFormat
from kinesis_core.clock import Clock, doubled_s
from kinesis_core.producing import MAX_KEY_CHARS
from kinesis_credentials import CredentialSpec
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0

Unit = Batch | UserRecord
Handler = Callable[[Any], Any]
"""A function or a coroutine function for `ConsumerGroup.run`. Its argument is a `Batch` or a `UserRecord`. What it returns is ignored."""
OnFailure = Callable[[Any, Exception], None]
"""A function that gets the batch or record for which a handler failed, and the exception. When it returns, the records count as processed."""


@frozen
class Pause:
    """Wait before the handler is called again."""

    seconds: float


@frozen
class Commit:
    """All records of the batch are processed."""


Step = Unit | Pause | Commit
HandlingSteps = Generator[Step, Exception | None, None]


def verify_count(argument: str, value: object, least: int) -> None:
    """
    Verify that *value* is a whole number, and *least* or more.

    Raises:
        OptionError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise refused(argument, f"{least} or more", value)


@define
class Handling:
    """How batches are handled: by which function, how often it is tried, and what follows when it fails."""

    retries: int
    on_failure: Literal["stop"] | OnFailure
    each: Literal["batch", "record"]
    rng: random.Random = field(factory=random.Random)

    def __attrs_post_init__(self) -> None:
        if self.each not in ("batch", "record"):
            raise refused("each", "'batch' or 'record'", self.each)
        if self.on_failure != "stop" and not callable(self.on_failure):
            raise refused("on_failure", "'stop' or a function", self.on_failure)
        verify_count("retries", self.retries, 0)

    def steps(self, batch: Batch, clock: Clock, is_stopping: Callable[[], bool]) -> HandlingSteps:
        """
        Yield the steps for *batch*, one after the other. Nothing more once its lease is lost, or in a pause if the worker
        *is_stopping*: then another worker delivers it again.

        For a batch or record the caller calls the handler, and sends the exception that it raised, or None. A pause may end early.

        Raises:
            HandlerError: The handler failed in all attempts, and so the worker fails.
        """
        units: Iterable[Unit] = batch.records() if self.each == "record" else (batch,)
        for unit in units:
            attempt = 0
            while not _is_lost(batch):
                error = yield unit
                if error is None:
                    break
                if _is_lost(batch):
                    return
                attempt += 1
                log.warning(
                    "handler.failed", **_facts(batch, unit), attempt=attempt, error=type(error).__name__
                )
                if attempt > self.retries:
                    self._give_up(batch, unit, error)
                    break
                until_s = clock.now_s() + self._pause_s(attempt)
                while (left_s := until_s - clock.now_s()) > 0 and not (_is_lost(batch) or is_stopping()):
                    yield Pause(left_s)
                if is_stopping():
                    return
            else:
                return
        yield Commit()

    def _pause_s(self, attempt: int) -> float:
        longest_s = doubled_s(FIRST_PAUSE_S, attempt, LONGEST_PAUSE_S)
        return self.rng.uniform(longest_s / 2, longest_s)

    def _give_up(self, batch: Batch, unit: Unit, error: Exception) -> None:
        failure = (
            f"The handler failed {self.retries + 1} times for {_describe(unit)} with {type(error).__name__}"
        )
        if self.on_failure == "stop":
            advice = "Correct the handler, or give an 'on_failure'."
            raise self._error(batch, failure, advice) from error
        try:
            result: object = self.on_failure(unit, error)
        except Exception as second:
            failure += f", and so did 'on_failure' with {type(second).__name__}"
            raise self._error(batch, failure, "Correct both.") from second
        if isawaitable(result):
            _drop(result)
            failure += ", and 'on_failure' returned an awaitable"
            raise self._error(batch, failure, "Give a plain function: it is called in a thread.") from error
        log.warning("records.diverted", **_facts(batch, unit), error=type(error).__name__)

    def _error(self, batch: Batch, failure: str, advice: str) -> HandlerError:
        """Return the error of a failure. The text of the user's exception is not in it: it may hold data of records."""
        fate = "not committed, and is delivered again"
        if batch.is_committed:  # by the handler itself
            fate = "committed"
        elif batch.may_be_committed:
            fate = "not committed, and is delivered again, unless the handler's own commit was written"
        what = f"{failure}. The batch is {fate}. {advice}"
        return HandlerError(what, batch.stream, batch.shard_id, str(batch.id), self.retries + 1)


def next_step(steps: HandlingSteps, error: Exception | None) -> Step | None:
    """Return the next step; None after the last one."""
    try:
        return steps.send(error)
    except StopIteration:
        return None


def _is_lost(batch: Batch) -> bool:
    return not (batch.is_ours or batch.is_committed)


def _describe(unit: Unit) -> str:
    if isinstance(unit, Batch):
        return "the batch"
    return f"record {unit.sequence_number}/{unit.sub_sequence_number}"


def _facts(batch: Batch, unit: Unit) -> dict[str, str | int]:
    """Return what the log says of *unit*: where it is in the stream, and nothing of what is in it."""
    facts: dict[str, str | int] = {"batch": str(batch.id), "stream": batch.stream, "shard": batch.shard_id}
    if not isinstance(unit, Batch):
        facts |= {"sequence": unit.sequence_number, "sub_sequence": unit.sub_sequence_number}
    return facts


class _NotAwaitableError(Exception):
    """The handler is a plain function."""


def _drop(awaitable: object) -> None:
    """Close a coroutine that nobody will await."""
    if iscoroutine(awaitable):
        awaitable.close()


def call(handler: Handler, unit: Unit) -> Exception | None:
    """
    Call *handler*, and return the exception that it raised.

    Raises:
        OptionError: It returned something to await, so nothing is processed yet.
    """
    try:
        result = handler(unit)
    except Exception as error:  # noqa: BLE001 - it is tried again, and then it surfaces
        return error
    if isawaitable(result):
        _drop(result)
        raise OptionError("'handler' returned an awaitable. Use `await group.run_async(...)` for it.")
    return None


async def call_async(handler: Handler, unit: Unit) -> Exception | None:
    """
    Await *handler*, and return the exception that it raised.

    Raises:
        OptionError: It returned nothing to await.
    """
    try:
        result = handler(unit)
        if not isawaitable(result):
            raise _NotAwaitableError
        await result
    except _NotAwaitableError:
        raise OptionError("'handler' returned nothing to await. Use `group.run(...)` for it.") from None
    except Exception as error:  # noqa: BLE001 - it is tried again, and then it surfaces
        return error
    return None


@frozen
class SendTo:
    """
    For `on_failure`: writes the batch or record to another stream, with its partition keys, and waits until it is written.

        group.run(handler, on_failure=SendTo("orders-dead"))

    A user record in an aggregate may have a key that Kinesis does not accept. A long key is cut to 256 characters. An empty key is
    left out. The arguments are those of `Producer.open`.
    """

    stream: str
    region: str | None = None
    endpoint_url: str | None = None
    credentials: CredentialSpec | None = None
    wire_format: WireFormat = WireFormat.JSON

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.stream, str) or not self.stream:
            raise refused("stream", "the name or ARN of a stream", self.stream)
        verify_connection(self.region, self.endpoint_url, self.credentials, self.wire_format)

    def __call__(self, unit: Unit, _: Exception) -> None:
        """
        Write *unit*, a batch or a record.

        Raises:
            PutError: A record could not be written.
            ServiceError: The stream cannot be reached.
        """
        records = unit.records() if isinstance(unit, Batch) else (unit,)
        with Producer.open(
            self.stream,
            region=self.region,
            endpoint_url=self.endpoint_url,
            credentials=self.credentials,
            wire_format=self.wire_format,
        ) as producer:
            for record in records:
                key = (record.partition_key or "")[:MAX_KEY_CHARS]
                producer.put(record.data, key or None, record.explicit_hash_key)
