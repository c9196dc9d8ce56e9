"""The declared calls are the calls that are made: each from where it is declared, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from kinesis_core.aws import CALLS, Location, Purpose
from kinesis_core.errors import AccessDeniedError
from kinesis_emulator import Emulator, Fault
from kinesis_emulator.requests import Request
from spark.sinks import sink_options
from spark.written import user_records
from spark_kinesis_source import KinesisDataSource
from support.halves import batch_reader, open_writer, payloads, plan, streaming, write
from support.key_services import KeyServices
from support.lease_tables import DynamoDb, dynamodb, kcl_lease
from support.spark_harness import Query
from support.streams import SECRET, StreamUnderTest

Called = dict[Location, set[str]]


@pytest.fixture
def database() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        yield running


def declared(*purposes: Purpose, service: str) -> Called:
    """Return the declared operations by the side that makes them, driver or executors."""
    return {
        location: {
            call.operation
            for call in CALLS
            for use in call.uses
            if call.service == service and use.purpose in purposes and location in use.locations
        }
        for location in OF_QUERIES
    }


OF_QUERIES = (Location.DRIVER, Location.EXECUTORS)
ASKED_OUTSIDE_OF_AWS = {"GetShardIterator"}
"""The dry run by which a sink finds out before its start whether another server supports dry runs."""


def everywhere(called: Called) -> set[str]:
    return set().union(*called.values())


def test_source(emulator: Emulator, stream: StreamUnderTest) -> None:
    """Polling: the driver makes the declared calls to load, plan and follow a reshard, and tasks make those to read."""
    called: Called = {location: set() for location in OF_QUERIES}

    def note(location: Location) -> None:
        called[location] |= set(emulator.calls.by_action())
        emulator.calls.clear()

    stream.put_numbers(10)
    with streaming(stream.options()) as reader:
        emulator.calls.clear()
        partitions, end = plan(reader)
        note(Location.DRIVER)
        assert len(payloads(reader, partitions)) == 10
        note(Location.EXECUTORS)
        stream.split()
        emulator.calls.clear()
        plan(reader, end)
        note(Location.DRIVER)
    once = batch_reader(stream.options())
    partitions = list(once.partitions())
    note(Location.DRIVER)
    assert len(payloads(once, partitions)) == 10
    note(Location.EXECUTORS)
    assert called == declared(Purpose.SOURCE, service="kinesis")


def test_fan_out(emulator: Emulator, stream: StreamUnderTest) -> None:
    """Fan-out: the driver makes the declared calls for the consumer, from start to end, and tasks make those to subscribe."""
    emulator.settings.consumer_creating_s = 0.5
    stream.put_numbers(10)
    emulator.calls.clear()
    with streaming(stream.options(consumerType="SubscribeToShard", consumerTags="team=data")) as reader:
        partitions, _ = plan(reader)
        on_driver = set(emulator.calls.by_action())
        emulator.calls.clear()
        assert len(payloads(reader, partitions)) == 10
        on_executors = set(emulator.calls.by_action())
        emulator.calls.clear()
    on_driver |= {*emulator.calls.by_action(), "TagResource"}  # AWS checks it when tags are registered
    assert on_driver == declared(Purpose.SOURCE, Purpose.FAN_OUT, service="kinesis")[Location.DRIVER]
    assert on_executors == declared(Purpose.FAN_OUT, service="kinesis")[Location.EXECUTORS]


def test_role(emulator: Emulator, stream: StreamUnderTest) -> None:
    """An assumed role: one call to STS precedes all others."""
    role = "arn:aws:iam::000000000000:role/reader"
    with KeyServices() as sts:
        options = stream.options(stsRoleArn=role, stsSessionName="nightly", stsEndpointUrl=sts.url)
        emulator.calls.clear()
        batch_reader(options).partitions()
        assert {asked.action for asked in sts.asked} == everywhere(declared(Purpose.ROLE, service="sts"))
    assert set(emulator.calls.by_action()) == declared(Purpose.SOURCE, service="kinesis")[Location.DRIVER]


def test_sink(emulator: Emulator, stream: StreamUnderTest) -> None:
    """Writing: the driver makes the declared calls before a query, and tasks make those to write."""
    options = sink_options(stream)
    emulator.calls.clear()
    open_writer(options)
    on_driver = set(emulator.calls.by_action()) - ASKED_OUTSIDE_OF_AWS
    emulator.calls.clear()
    write(options, ["one", "two"])
    assert {Location.DRIVER: on_driver, Location.EXECUTORS: set(emulator.calls.by_action())} == declared(
        Purpose.SINK, service="kinesis"
    )


def test_lease_publishing(stream: StreamUnderTest, database: DynamoDb) -> None:
    """Publishing: the driver makes the declared calls to create the table and write to it. Tasks make none."""
    stream.put_numbers(10)
    with streaming(stream.options(**database.options())) as reader:
        partitions, end = plan(reader)
        on_driver = set(database.calls)
        database.calls.clear()
        payloads(reader, partitions)
        on_executors = set(database.calls)
        plan(reader, end)
        on_driver |= set(database.calls)
    assert {Location.DRIVER: on_driver, Location.EXECUTORS: on_executors} == declared(
        Purpose.LEASE_TABLE, service="dynamodb"
    )


def test_start_of_an_application(stream: StreamUnderTest, database: DynamoDb) -> None:
    """Where a KCL application stopped: the driver reads the table once, when the query starts first. Tasks make no call."""
    [put] = stream.put_numbers(1)
    database.create_table(leaseKey="HASH")
    database.put_item(kcl_lease(put.shard_id, "TRIM_HORIZON"))
    start = json.dumps({"kclApplication": database.table})
    options = stream.options(startingPosition=start, dynamodbEndpointUrl=database.endpoint_url)
    with streaming(options) as reader:
        partitions, end = plan(reader)
        assert database.calls == {"Scan": 1}
        assert declared(Purpose.KCL_TABLE, service="dynamodb")[Location.DRIVER] == {"Scan"}
        assert len(payloads(reader, partitions)) == 1
        plan(reader, end)
        assert database.calls == {"Scan": 1}


@pytest.mark.all_sparks
def test_queries(
    spark: SparkSession,
    emulator: Emulator,
    make_stream: Callable[..., StreamUnderTest],
    database: DynamoDb,
    make_query: Callable[..., Query],
) -> None:
    """A query from load() to its end, with published progress, makes the declared calls and no others."""
    stream = make_stream()
    stream.put_numbers(10)
    emulator.calls.clear()
    query = make_query(stream.options(**database.options())).start().wait_for_rows(10)
    query.wait(lambda: database.calls["UpdateItem"], "publication").stop()
    assert set(emulator.calls.by_action()) == everywhere(declared(Purpose.SOURCE, service="kinesis"))
    assert set(database.calls) == everywhere(declared(Purpose.LEASE_TABLE, service="dynamodb"))
    emulator.calls.clear()
    frame = spark.range(10).selectExpr("cast(id as string) data")
    frame.write.format("kinesis").options(**sink_options(stream)).mode("append").save()
    assert set(emulator.calls.by_action()) - ASKED_OUTSIDE_OF_AWS == everywhere(
        declared(Purpose.SINK, service="kinesis")
    )
    assert len(user_records(emulator, stream.name)) == 20


def operations(purpose: Purpose) -> list[str]:
    return sorted(everywhere(declared(purpose, service="kinesis")))


@pytest.mark.parametrize("operation", operations(Purpose.SOURCE))
def test_load_without_permission(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest, operation: str
) -> None:
    """load() fails if any call of the query would be denied, also if only tasks make it."""
    emulator.settings.deny = {operation}
    reader = spark.readStream.format("kinesis").options(**stream.options())
    with pytest.raises(Exception, match=f"Allow the IAM action kinesis:{operation} on the stream") as caught:
        reader.load()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("operation", operations(Purpose.SOURCE))
def test_start_without_permission(emulator: Emulator, stream: StreamUnderTest, operation: str) -> None:
    """With a schema of the user's, where Spark calls nothing at load(), a query fails before its first offset."""
    emulator.settings.deny = {operation}
    with (
        streaming(stream.options()) as reader,
        pytest.raises(AccessDeniedError, match=f"kinesis:{operation} on the stream"),
    ):
        reader.initialOffset()
    with pytest.raises(AccessDeniedError, match=f"kinesis:{operation} on the stream"):
        batch_reader(stream.options()).partitions()


@pytest.mark.parametrize("operation", operations(Purpose.SINK))
def test_sink_without_permission(emulator: Emulator, stream: StreamUnderTest, operation: str) -> None:
    """A writer fails on the driver, before any task, if any call of the tasks would be denied."""
    emulator.settings.deny = {operation}
    with pytest.raises(AccessDeniedError, match=f"Allow the IAM action kinesis:{operation} on the stream"):
        open_writer(sink_options(stream))


def test_check_does_nothing(emulator: Emulator, stream: StreamUnderTest) -> None:
    """The checks read and write nothing, on a server that supports dry runs and on one that executes them."""
    for knows_dry_run in (True, False):
        emulator.settings.knows_dry_run = knows_dry_run
        stream = StreamUnderTest(stream.endpoint_url, f"orders-{knows_dry_run}")
        stream.put_numbers(1)
        seen = list[Request]()
        emulator.settings.fault = seen.append
        KinesisDataSource(stream.options()).schema()
        open_writer(sink_options(stream))
        assert [len(emulator.records(stream.name)), len(user_records(emulator, stream.name))] == [1, 1]
        reads = [request for request in seen if request.action == "GetRecords"]
        assert [request.is_dry_run for request in reads] == [True] * knows_dry_run
        assert len(seen) <= 5 + 3 + len(ASKED_OUTSIDE_OF_AWS)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("ProvisionedThroughputExceededException"),
        Fault("LimitExceededException"),
        Fault("InternalFailure", status=500),
        Fault("KMSThrottlingException"),
        Fault(drop_request=True),
    ],
    ids=lambda fault: str(fault.code),
)
def test_trouble_of_the_check(emulator: Emulator, stream: StreamUnderTest, fault: Fault) -> None:
    """Throttles and outages of the checks do not fail a start, and are not waited for."""
    calls: list[str] = []

    def disturb(request: Request) -> Fault | None:
        calls.append(request.action)
        return None if request.action == "DescribeStreamSummary" else fault

    emulator.settings.fault = disturb
    KinesisDataSource(stream.options()).schema()
    open_writer(sink_options(stream))
    assert calls == ["DescribeStreamSummary", "ListShards"] * 2


def test_key_of_the_stream(emulator: Emulator, stream: StreamUnderTest) -> None:
    """A KMS key that the role may not use fails load(), with the action on the key."""
    emulator.settings.fault = lambda request: (
        Fault("KMSAccessDeniedException") if request.action == "GetRecords" else None
    )
    with pytest.raises(AccessDeniedError, match="kms:Decrypt on the stream's KMS key"):
        KinesisDataSource(stream.options()).schema()


def test_missing_on_executors(emulator: Emulator, stream: StreamUnderTest) -> None:
    """A task that lacks a permission of the driver reports it as well."""
    stream.put_numbers(10)
    reader = batch_reader(stream.options())
    partitions = list(reader.partitions())
    emulator.settings.deny = {"GetRecords"}
    with pytest.raises(AccessDeniedError, match="Allow the IAM action kinesis:GetRecords on the stream"):
        payloads(reader, partitions)


@pytest.mark.parametrize(
    ("operation", "resource"),
    [
        ("DescribeStreamConsumer", "the consumer"),
        ("RegisterStreamConsumer", "the stream"),
        ("SubscribeToShard", "the consumer"),
    ],
)
def test_missing_for_fan_out(
    emulator: Emulator,
    stream: StreamUnderTest,
    make_query: Callable[..., Query],
    operation: str,
    resource: str,
) -> None:
    """A missing permission for enhanced fan-out is reported at the start. Only the deregistration may fail without an error."""
    stream.put_numbers(10)
    emulator.settings.deny = {operation}
    query = make_query(stream.options(consumerType="SubscribeToShard"))
    with pytest.raises(Exception, match=f"Allow the IAM action kinesis:{operation} on {resource}"):
        query.start().process_all()
