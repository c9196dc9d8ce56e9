"""Enhanced fan-out in Spark: consumers, broken subscriptions, and polling as the fallback."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from kinesis_core.errors import AccessDeniedError, StreamNotFoundError
from kinesis_emulator import Emulator, EventFault, Fault, FaultScript, Step
from spark.subscribe_calls import SubscribeCalls
from spark_kinesis_source import all_columns
from support.halves import batch_reader, payloads, plan, streaming
from support.servers import FAN_OUT
from support.spark_harness import Query
from support.streams import StreamUnderTest
from support.waiting import wait_until

MakeStream = Callable[..., StreamUnderTest]
MakeQuery = Callable[..., Query]
WITH_FALLBACK = {"consumerType": "SubscribeToShard"}
IN_USE = Fault("ResourceInUseException")


@pytest.fixture
def subscribe_calls(emulator: Emulator) -> SubscribeCalls:
    return SubscribeCalls(emulator)


def consumers(stream: StreamUnderTest) -> dict[str, str]:
    """Return the registered consumers by name, with their ARNs; without those that are being removed."""
    arn = stream.client.describe_stream_summary(StreamName=stream.name)["StreamDescriptionSummary"][
        "StreamARN"
    ]
    listed = stream.client.list_stream_consumers(StreamARN=arn)["Consumers"]
    return {one["ConsumerName"]: one["ConsumerARN"] for one in listed if one["ConsumerStatus"] != "DELETING"}


# Consumers ---------------------------------------------------------------------------------------------------


@pytest.mark.all_sparks
@pytest.mark.parametrize("trigger", [{}, {"availableNow": True}], ids=["stopped", "ends by itself"])
def test_consumer_of_a_query(
    stream: StreamUnderTest, make_query: MakeQuery, subscribe_calls: SubscribeCalls, trigger: dict[str, bool]
) -> None:
    """A query registers the consumer that it names, reads through it, and deregisters it at its end."""
    stream.put_numbers(5)
    query = make_query(stream.options(**FAN_OUT, consumerName="mine")).start(**trigger)
    query.wait(lambda: len(query.rows) >= 5, "5 rows")
    (query.finish if trigger else query.stop)()
    wait_until(lambda: not consumers(stream), lambda: consumers(stream))
    assert query.payloads == stream.payloads
    assert {"/consumer/mine:" in request.params["ConsumerARN"] for request in subscribe_calls.asked} == {True}


@pytest.mark.parametrize("keep", ["true", "false"])
def test_consumer_that_exists(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery, keep: str
) -> None:
    """An existing consumer of that name is used. After the query it stays only with keepConsumer."""
    arn = emulator.register_consumer(stream.name, "mine")
    stream.put_numbers(5)
    options = stream.options(**FAN_OUT, consumerName="mine", keepConsumer=keep)
    make_query(options).start().wait_for_rows(5).stop()
    assert not emulator.calls.count("RegisterStreamConsumer")
    if keep == "false":
        wait_until(lambda: not consumers(stream), lambda: consumers(stream))
    # This query starts after the first one has ended completely.
    assert make_query(options, "again").start().wait_for_rows(5).payloads == stream.payloads
    assert (consumers(stream)["mine"] == arn) is (keep == "true")


def test_consumer_by_arn(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery, subscribe_calls: SubscribeCalls
) -> None:
    """A consumer given by ARN is used, and neither registered nor deregistered."""
    arn = emulator.register_consumer(stream.name, "shared")
    stream.put_numbers(5)
    query = make_query(stream.options(**FAN_OUT, consumerARN=arn)).start().wait_for_rows(5).stop()
    assert query.payloads == stream.payloads
    assert {request.params["ConsumerARN"] for request in subscribe_calls.asked} == {arn}
    # The calls of a second query come after the last calls of the first one.
    make_query(stream.options(**FAN_OUT, consumerARN=arn), "again").start().wait_for_rows(5)
    assert consumers(stream) == {"shared": arn}


def test_start_that_fails(emulator: Emulator, stream: StreamUnderTest) -> None:
    """A query without the permission to subscribe deregisters the consumer that it registered."""
    emulator.settings.deny = {"SubscribeToShard"}
    with pytest.raises(AccessDeniedError), streaming(stream.options(**WITH_FALLBACK)) as reader:
        plan(reader)
    assert emulator.calls.count("RegisterStreamConsumer") == 1
    assert not consumers(stream)


# Subscriptions -----------------------------------------------------------------------------------------------


@pytest.mark.tests
def test_subscriptions_that_break(
    emulator: Emulator, make_stream: MakeStream, make_query: MakeQuery, subscribe_calls: SubscribeCalls
) -> None:
    """After a cut or an error among the events, the shard is subscribed to once more. Other shards continue meanwhile."""
    stream = make_stream(shards=3)
    stream.put_numbers(120)
    emulator.settings.limits = replace(emulator.settings.limits, event_max_records=5)
    shards = emulator.shard_ids(stream.name)
    cut, error = EventFault(2, cut=True), EventFault(2, code="InternalFailureException")
    subscribe_calls.then = FaultScript(
        Step(Fault(events=cut), "SubscribeToShard", shard_id=shards[0]),
        Step(Fault(events=error), "SubscribeToShard", shard_id=shards[1]),
    )
    query = make_query(stream.options(**FAN_OUT), schema="data binary, shardId string")
    rows = query.start().wait_for_rows(120).rows
    expected = {shard: [put.data for put in stream.sent if put.shard_id == shard] for shard in shards}
    assert {s: [bytes(row.data) for row in rows if row.shardId == s] for s in shards} == expected
    assert Counter(subscribe_calls.shards) == {shards[0]: 2, shards[1]: 2, shards[2]: 1}
    assert not subscribe_calls.overlaps


def test_polling_instead(
    stream: StreamUnderTest, make_query: MakeQuery, subscribe_calls: SubscribeCalls
) -> None:
    """With the fallback, records put within 5 s of a subscription arrive at once, and once. No subscriber is displaced."""
    query = make_query(stream.options(**WITH_FALLBACK)).start()
    for count in range(5, 30, 5):
        stream.put_numbers(5)
        query.wait_for_rows(count)
    assert query.payloads == stream.payloads
    assert subscribe_calls.asked
    assert not subscribe_calls.overlaps


def test_one_line_about_polling(
    make_stream: MakeStream, subscribe_calls: SubscribeCalls, caplog: pytest.LogCaptureFixture
) -> None:
    """A task logs one line about all shards that it polls instead, with their number and the reasons."""
    stream = make_stream(shards=3)
    stream.put_numbers(30)  # few enough of each shard for one batch
    subscribe_calls.then = FaultScript(Step(IN_USE, "SubscribeToShard", times=None))
    with caplog.at_level("INFO", "kinesis_core"), streaming(stream.options(**WITH_FALLBACK)) as reader:
        assert sorted(payloads(reader, plan(reader)[0])) == sorted(stream.payloads)
    lines = [line for line in caplog.messages if line.startswith("fan_out.polled")]
    assert lines == ["fan_out.polled ranges=3 reasons={'ResourceInUseException': 3}"]


@pytest.mark.tests
def test_children(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery, subscribe_calls: SubscribeCalls
) -> None:
    """The subscription of a parent ends with the shard. Each child is subscribed to once, after its parent."""
    stream.put_numbers(10)
    (parent,) = emulator.shard_ids(stream.name)
    stream.split()
    stream.put_numbers(20)
    query = make_query(stream.options(**FAN_OUT)).start().wait_for_rows(30)
    assert query.payloads[:10] == stream.payloads[:10]
    assert sorted(query.payloads) == sorted(stream.payloads)
    assert subscribe_calls.shards[0] == parent
    assert sorted(subscribe_calls.shards[1:], key=str) == sorted(emulator.shard_ids(stream.name))


def test_retried_task(
    stream: StreamUnderTest, make_query: MakeQuery, subscribe_calls: SubscribeCalls
) -> None:
    """A retried task polls, because its first attempt may still hold the subscription. The records are identical."""

    def fail_once(frame: DataFrame) -> list[Row]:
        def attempts(batches):  # type: ignore[no-untyped-def] # Spark cannot ship names that only type checkers know
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            if context.attemptNumber() == 0:
                next(batches)
                raise ValueError("the first attempt fails on purpose")
            yield from batches

        return frame.mapInArrow(attempts, frame.schema).collect()

    stream.put_numbers(20)
    query = make_query(stream.options(**WITH_FALLBACK), each=fail_once).start().wait_for_rows(20)
    assert query.payloads == stream.payloads
    assert len(subscribe_calls.asked) == 1


# Rows --------------------------------------------------------------------------------------------------------


def test_rows_are_those_of_polling(
    emulator: Emulator, make_stream: MakeStream, make_query: MakeQuery, subscribe_calls: SubscribeCalls
) -> None:
    """Both ways of reading return the same rows and columns from any position."""
    stream, now_s = make_stream(shards=2), time.time()
    for number in range(40):
        emulator.put(stream.name, str(number), f"key-{number}", arrived_s=now_s - 3600 + number)
    options: dict[str, Any] = stream.options(startingPosition=f"AT_TIMESTAMP {now_s - 3600 + 10:.3f}")
    schema = ", ".join(
        f"{column.name} {column.dataType.simpleString()}"
        for column in all_columns()
        if column.name != "millisBehindLatest"
    )
    polled = make_query(options, "polled", schema=schema).start(availableNow=True).finish()
    fanned_out = make_query({**options, **FAN_OUT}, "fanned out", schema=schema)
    rows = fanned_out.start(availableNow=True).finish().rows
    assert 25 <= len(rows) <= 30
    assert sorted(rows) == sorted(polled.rows)
    assert set(subscribe_calls.shards) == set(emulator.shard_ids(stream.name))


def test_batch_reads_are_polled(
    emulator: Emulator, stream: StreamUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    """spark.read polls, registers no consumer, and logs that once."""
    stream.put_numbers(5)
    with caplog.at_level("INFO", "spark_kinesis_source"):
        reader = batch_reader(stream.options(**WITH_FALLBACK))
        assert payloads(reader, reader.partitions()) == stream.payloads
    reasons = [getattr(record, "context", {})["reason"] for record in caplog.records]
    assert reasons == ["Enhanced fan-out has no effect here: a batch read polls."]
    assert not emulator.calls.count("RegisterStreamConsumer")
    assert not emulator.calls.count("SubscribeToShard")


# New records that a consumer tells of ------------------------------------------------------------------------


@pytest.mark.all_sparks
@pytest.mark.parametrize("reading", [{}, FAN_OUT], ids=["polling", "fan-out"])
def test_a_consumer_that_wakes_the_driver(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery, reading: dict[str, str]
) -> None:
    """An idle shard would be looked at after two minutes. Its record arrives before, since a consumer tells of it. That is removed at the end."""
    limited = {"maxRecordsPerShard": "1000"}  # Spark 4.0 and 4.1 need one
    options = stream.options(**reading, **limited, wakeConsumer="bell", minFetchPeriod="60 s")
    query = make_query(options).start()
    wait_until(lambda: "bell" in dict(emulator.subscriptions(stream.name)))
    put_s = time.monotonic()
    stream.put_numbers(1)
    query.wait(lambda: query.rows, "the record")
    assert time.monotonic() - put_s < 100
    assert query.payloads == stream.payloads
    query.stop()
    wait_until(lambda: not consumers(stream), lambda: consumers(stream))


@pytest.mark.parametrize("reading", [{}, WITH_FALLBACK], ids=["polling", "fan-out"])
def test_a_consumer_that_may_not_wake(
    emulator: Emulator, stream: StreamUnderTest, reading: dict[str, str]
) -> None:
    """Without the permission to subscribe the query does not start, and leaves no consumer behind."""
    emulator.settings.deny = {"SubscribeToShard"}
    with (
        pytest.raises(AccessDeniedError),
        streaming(stream.options(**reading, wakeConsumer="bell")) as reader,
    ):
        plan(reader)
    assert not consumers(stream)


@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"once": True}], ids=["availableNow", "once"])
def test_a_query_that_ends_registers_no_consumer_to_wake_it(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery, trigger: dict[str, bool]
) -> None:
    """It waits for no records."""
    stream.put_numbers(5)
    query = make_query(stream.options(wakeConsumer="bell")).start(**trigger).finish()
    assert query.payloads == stream.payloads
    assert not emulator.calls.count("RegisterStreamConsumer")


def test_an_unknown_consumer_to_wake_the_driver(stream: StreamUnderTest, emulator: Emulator) -> None:
    """The query does not start. The consumer that reads, which was registered before, is removed again."""
    arn = emulator.register_consumer(stream.name, "gone")
    stream.client.deregister_stream_consumer(ConsumerARN=arn)
    wait_until(lambda: not consumers(stream))
    with (
        pytest.raises(StreamNotFoundError, match="gone"),
        streaming(stream.options(**WITH_FALLBACK, wakeConsumer=arn)) as reader,
    ):
        plan(reader)
    assert emulator.calls.count("RegisterStreamConsumer") == 1
    wait_until(lambda: not consumers(stream), lambda: consumers(stream))
