"""The options that the source declares: every one of them, by every name, and what contradicts."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from kinesis_core.aws import WireFormat
from kinesis_core.aws.clients import CONNECTIONS
from kinesis_core.errors import OffsetError, OptionError
from kinesis_core.model import AtTimestamp, KclApplication, Latest, PerShard, TrimHorizon
from kinesis_core.options import COMMON_OPTIONS, SPARK, Origin, aliases_of
from kinesis_core.options.option import normalise
from kinesis_core.reading import ReadSettings
from kinesis_credentials import StaticKeys
from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
from spark_kinesis_source.options.fan_out import FAN_OUT
from spark_kinesis_source.options.publishing import PUBLISHING

LEAST = {"streamName": "orders", "region": "eu-west-1"}
MIB = 1024 * 1024
AT_TIME = AtTimestamp(1769850000000)
HALF_READ = json.dumps(
    {
        "shardId-000000000000": {
            "iteratorType": "AFTER_SEQUENCE_NUMBER",
            "iteratorPosition": "4966",
            "subSequenceNumber": "2",
            "isLast": "false",
        }
    }
)

# The attribute, its value; then each name of the option with a text for that value.
CASES: list[tuple[str, Any, dict[str, str]]] = [
    (
        "starting_position",
        AT_TIME,
        {
            "startingPosition": "AT_TIMESTAMP 2026-01-31T09:00:00Z",
            "kinesis.startingPosition": "AT_TIMESTAMP 2026-01-31T14:30:00+05:30",
            "initialPosition": '{"at_timestamp": "01/31/2026 01:00:00 PST", "format": "MM/dd/yyyy HH:mm:ss ZZZ"}',
        },
    ),
    ("ending_position", AT_TIME, {"endingPosition": "AT_TIMESTAMP 1769850000"}),
    ("filter_pushdown", True, {"filterPushdown": "true"}),
    ("read.fail_on_data_loss", False, {"failOnDataLoss": "false", "kinesis.failOnDataLoss": "FALSE"}),
    ("plan.fail_on_data_loss", False, {"failOnDataLoss": "false"}),
    ("plan.trim_horizon_margin_s", 600.0, {"trimHorizonMargin": "10 m"}),
    (
        "plan.limits.max_records",
        500,
        {
            "maxRecordsPerShard": "500",
            "kinesis.maxFetchRecordsPerShard": "500",
            "kinesis.executor.maxFetchRecordsPerShard": "500",
        },
    ),
    ("min_records_per_trigger", 500, {"minRecordsPerTrigger": "500"}),
    ("plan.max_shard_skew_s", 60.0, {"maxShardSkew": "1min"}),
    ("max_trigger_delay_s", 10.0, {"maxTriggerDelay": "10s"}),
    (
        "plan.limits.max_bytes",
        20 * MIB,
        {
            "maxBytesPerShard": "20m",
            "kinesis.maxFetchTimePerShardSec": "10",
            "kinesis.executor.maxFetchTimeInMs": "10000",
            "maxFetchTimeInMs": "10000",
            "maxFetchDuration": "10s",
        },
    ),
    ("plan.batch_limits.max_records", 500, {"maxRecordsPerTrigger": "500"}),
    ("plan.batch_limits.max_bytes", 20 * 1024 * MIB, {"maxBytesPerBatch": "20gb", "fetchBufferSize": "20gb"}),
    (
        "read.max_records_per_fetch",
        100,
        {
            "maxRecordsPerFetch": "100",
            "kinesis.getRecords.numberOfRecordsPerFetch": "100",
            "kinesis.executor.maxRecordPerRead": "100",
            "maxRecordPerRead": "100",
        },
    ),
    (
        "read.min_fetch_period_s",
        1.0,
        {"minFetchPeriod": "1 s", "kinesis.getRecords.fetchIntervalMs": "1000"},
    ),
    ("plan.min_fetch_period_s", 1.0, {"minFetchPeriod": "1 s"}),
    ("plan.quota_share", 0.25, {"quotaShare": "0.25"}),
    ("plan.inline_records", False, {"inlineRecords": "false"}),
    ("read.max_buffered_bytes", 16 * MIB, {"maxBufferedBytes": "16m"}),
    ("read.max_fetch_rate_bytes", 1.0 * MIB, {"maxFetchRate": "1.0"}),
    ("shards_per_task", 5, {"shardsPerTask": "5"}),
    ("max_partitions", 4, {"maxPartitions": "4"}),
    (
        "plan.shard_discovery_interval_s",
        1.0,
        {
            "shardDiscoveryInterval": "1s",
            "kinesis.describeShardInterval": "1s",
            "kinesis.client.describeShardInterval": "1000",
            "shardFetchInterval": "1s",
        },
    ),
    (
        "planning_threads",
        2,
        {
            "planningThreads": "2",
            "kinesis.checkNewRecordThreads": "2",
            "kinesis.client.maxParallelThreads": "2",
        },
    ),
    ("plan.plan_budget_s", 0.5, {"planBudget": "500 ms"}),
    ("deaggregate", False, {"deaggregate": "false"}),
    ("freeze_worker_heap", False, {"freezeWorkerHeap": "false"}),
    ("connection.wire_format", WireFormat.CBOR, {"wireFormat": "cbor"}),
]


def parse(**given: object) -> SourceOptions:
    return SourceOptions.parse({**LEAST, **given})


def look_up(options: SourceOptions, path: str) -> object:
    value: Any = options
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(
    ("name", "value", "path", "expected"),
    [(name, value, path, expected) for path, expected, names in CASES for name, value in names.items()],
)
def test_names(name: str, value: str, path: str, expected: object) -> None:
    """Every name of an option sets the value, in its connector's unit."""
    assert look_up(parse(), path) != expected
    assert look_up(parse(**{name: value}), path) == expected


def test_every_option_has_a_case() -> None:
    """Every option of the source has a case here, by every name."""
    elsewhere = {"addIdleTimeBetweenReads", "idleTimeBetweenReadsInMs"}
    tried = {normalise(name) for _, _, names in CASES for name in names}
    for option in set(SOURCE_OPTIONS.options) - set(COMMON_OPTIONS):
        if option.name not in elsewhere and option.group not in (FAN_OUT.title, PUBLISHING.title):
            assert {normalise(name) for name in (option.name, *(a.name for a in aliases_of(option)))} <= tried


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"minRecordsPerTrigger": "101", "maxRecordsPerTrigger": "100"},
            "Option 'minRecordsPerTrigger' (101) is more than Option 'maxRecordsPerTrigger' (100): micro-batches would wait "
            "for records that they cannot contain. Lower the first or raise the second.",
        ),
        (
            {"shardsPerTask": "5", "maxPartitions": "4"},
            "Option 'shardsPerTask' and Option 'maxPartitions' cannot be combined. Keep one of them.",
        ),
        (
            {"streamName": "a,b", "startingPosition": '{"shardId-000000000000": "LATEST"}'},
            "Option 'startingPosition' accepts positions by shard for one stream only; got 2 streams, whose shards "
            """have the same ids. Give them by stream: {"a": {...}, ...}.""",
        ),
        (
            {"streamName": "a,b", "startingPosition": '{"a": "LATEST"}'},
            "Option 'startingPosition' has positions by stream, but no position for 'b'. Add one.",
        ),
        (
            {"streamName": "a,b", "endingPosition": '{"c": "LATEST"}'},
            "Option 'endingPosition' names streams that are not read: c. Those to read are a, b.",
        ),
        (
            {
                "streamName": "a",
                "startingPosition": json.dumps({"metadata": {"streamName": "b"}, **json.loads(HALF_READ)}),
            },
            "Option 'startingPosition' is the checkpoint of stream 'b'; the stream to read is 'a'.",
        ),
        (
            {"deaggregate": "false", "startingPosition": HALF_READ},
            "Option 'startingPosition' starts inside an aggregate, after user records that were already read. "
            "Option 'deaggregate' must be true to read the rest of the aggregate.",
        ),
        (
            {"kinesis.metadataCommitterType": "DYNAMODB", "streamName": "a,b"},
            "Option 'metadataCommitterType' set to 'DYNAMODB' also requires 'dynamodbTableName' for several streams.",
        ),
        (
            {"minFetchPeriod": "200 ms", "addIdleTimeBetweenReads": "true"},
            "Option 'minFetchPeriod' and Option 'addIdleTimeBetweenReads' set the same thing to different values "
            "(0.2 s and 1 s). Keep one of them.",
        ),
    ],
)
def test_refusals(given: dict[str, str], message: str) -> None:
    """Options that contradict each other, the streams or the position are refused, with what to do."""
    with pytest.raises(OptionError) as caught:
        parse(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "name",
    [
        name.replace("*", "anything")
        for ignored_options in SOURCE_OPTIONS.ignored_options
        for name in ignored_options.names
    ],
)
def test_not_needed(name: str) -> None:
    """A name without effect is accepted, and one line in the log says why."""
    [reason] = parse(**{name: "1"}).ignored
    assert reason.startswith(f"Option '{name}' has no effect here: ")


def test_delay_of_nothing() -> None:
    """A delay without a number of records to wait for is accepted, and the log says that it is not needed."""
    [reason] = parse(maxTriggerDelay="10s").ignored
    assert "it belongs to 'minRecordsPerTrigger'" in reason
    assert parse(minRecordsPerTrigger="1", maxTriggerDelay="10s").ignored == ()


@pytest.mark.parametrize(
    "table_name", ["dynamodbTableName", "kinesis.dynamodb.tableName", "DYNAMODB.TABLENAME"]
)
def test_publishing(table_name: str) -> None:
    """Progress is published to the named table, also by the names of the awslabs connector."""
    given = {"kinesis.metadataCommitterType": "dynamodb", table_name: "leases"}
    assert parse(**given).lease_table == "leases"
    assert parse(**given).dynamodb_endpoint_url is None


def test_publishing_to_the_default_table() -> None:
    """Without a name the table has the name that the awslabs connector gives it."""
    polled = parse(metadataCommitterType="DYNAMODB")
    assert polled.lease_table == "kdsc_eu-west-1_orders"
    fanned_out = parse(metadataCommitterType="DYNAMODB", consumerType="SubscribeToShard", consumerName="me")
    assert fanned_out.lease_table == "kdsc_eu-west-1_orders_me"


@pytest.mark.parametrize(
    "given", [{"kinesis.metadataCommitterType": "HDFS"}, {"dynamodb.tableName": "leases"}]
)
def test_not_publishing(given: dict[str, str]) -> None:
    """Without DYNAMODB nothing is published, and the log says that nothing needs to be."""
    options = parse(**given)
    assert options.lease_table is None
    [reason] = options.ignored
    assert reason.endswith("has no effect here: Spark's checkpoint holds all progress.")


def test_the_table_of_an_application() -> None:
    """`dynamodbEndpointUrl` is where the table of a KCL application is read, whether progress is published or not."""
    endpoint = "http://127.0.0.1:8000"
    for start in ('{"kclApplication": "billing"}', '{"orders": {"kclApplication": "billing"}}'):
        options = parse(startingPosition=start, dynamodbEndpointUrl=endpoint)
        assert options.dynamodb_endpoint_url == endpoint
        assert options.lease_table is None
        assert options.ignored == ()
    [reason] = parse(startingPosition="LATEST", dynamodbEndpointUrl=endpoint).ignored
    assert "'dynamodbEndpointUrl' has no effect here" in reason


@pytest.mark.parametrize(
    ("version", "told"), [(1, "not a position"), (99, "has version 99. This release reads versions 1 and 2")]
)
def test_a_saved_offset_is_not_a_position(version: int, told: str) -> None:
    """A query continues from its checkpoint directory, and the error says so."""
    with pytest.raises(OffsetError, match=told) as caught:
        parse(startingPosition=f'{{"version": {version}}}')
    caught.value.words = SPARK
    assert "only with its checkpoint directory" in str(caught.value)


def test_an_application_of_several_streams() -> None:
    """One application may read several streams. Positions of shards cannot be added then: they would be of no stream."""
    several = {"streamName": "orders,returns", "region": "eu-west-1"}
    application = KclApplication("billing")
    given = {**several, "startingPosition": '{"kclApplication": "billing"}'}
    assert SourceOptions.parse(given).batch_starting_position == application
    by_hand = '{"kclApplication": "billing", "shardId-000000000000": "LATEST"}'
    with pytest.raises(OptionError, match="positions by shard for one stream only; got 2 streams"):
        SourceOptions.parse({**several, "startingPosition": by_hand})


@pytest.mark.parametrize(
    ("given", "period_s", "ignored"),
    [
        ({"kinesis.executor.addIdleTimeBetweenReads": "true"}, 1.0, 0),
        ({"addIdleTimeBetweenReads": "true", "kinesis.executor.idleTimeBetweenReadsInMs": "500"}, 0.5, 0),
        (
            {"addIdleTimeBetweenReads": "true", "idleTimeBetweenReadsInMs": "500", "minFetchPeriod": "0.5s"},
            0.5,
            0,
        ),
        ({"addIdleTimeBetweenReads": "false", "idleTimeBetweenReadsInMs": "500"}, 0.2, 1),
        ({"idleTimeBetweenReadsInMs": "500"}, 0.2, 1),
    ],
)
def test_idle_time(given: dict[str, str], period_s: float, ignored: int) -> None:
    """qubole's idle time applies if its switch is on. If it is off, the log says that the idle time is not needed."""
    options = parse(**given)
    assert options.read.min_fetch_period_s == period_s
    assert len(options.ignored) == ignored


@pytest.mark.parametrize(
    ("given", "explicit"),
    [
        ({}, False),
        ({"maxRecordsPerShard": "100000"}, True),
        ({"kinesis.maxFetchTimePerShardSec": "10"}, True),
        ({"fetchBufferSize": "20gb"}, True),
        ({"maxRecordsPerTrigger": "100"}, True),
        ({"maxRecordsPerFetch": "10"}, False),
    ],
)
def test_explicit_limit(given: dict[str, str], explicit: bool) -> None:
    """A limit set by the user counts as explicit, also if it equals the default."""
    assert parse(**given).has_explicit_limit is explicit


@pytest.mark.parametrize(
    ("given", "budget_s"),
    [({}, 2.0), ({"planBudget": "none"}, None), ({"minRecordsPerTrigger": "2", "planBudget": "1 s"}, None)],
)
def test_the_budget_of_plans(given: dict[str, str], budget_s: float | None) -> None:
    """A micro-batch that waits for records in all shards has whole plans."""
    assert parse(**given).plan.plan_budget_s == budget_s


def test_batch_start() -> None:
    """A batch read starts at the oldest record unless the user sets a position, also if that is the streaming default."""
    assert parse().batch_starting_position == TrimHorizon()
    assert parse(startingPosition="LATEST").batch_starting_position == Latest()


def test_shards_of_one_stream() -> None:
    """Positions by shard are accepted for one stream."""
    start = parse(startingPosition='{"shardId-000000000000": "TRIM_HORIZON"}').starting_position
    assert start == PerShard({"shardId-000000000000": TrimHorizon()})


def test_travels() -> None:
    """Options pickle, including keys."""
    options = parse(awsAccessKeyId="AKIDEXAMPLE", awsSecretKey="s3cr3t", startingPosition="EARLIEST")
    copy = pickle.loads(pickle.dumps(options))  # noqa: S301 - our own bytes
    assert copy == options
    assert copy.connection.credentials == StaticKeys("AKIDEXAMPLE", "s3cr3t")


def test_origins() -> None:
    """Every connector has names."""
    assert {alias.origin for option in SOURCE_OPTIONS.options for alias in aliases_of(option)} == set(Origin)


@pytest.mark.parametrize(
    ("name", "value", "attribute", "parsed", "shown"),
    [
        ("kinesis.getRecords.fetchIntervalMs", "120000", "read.min_fetch_period_s", 60.0, "1 m"),
        ("kinesis.clientNumRetries", "2147483647", "connection.retry.max_retries", 100, "100"),
        ("kinesis.clientRetryIntervalsMs", "600000", "connection.retry.interval_s", 300.0, "5 m"),
        ("kinesis.clientMaxRetryIntervalMs", "600000", "connection.retry.max_interval_s", 300.0, "5 m"),
        ("kinesis.subscribeToShard.timeoutSec", "0", "fan_out.settings.timeout_s", 1.0, "1 s"),
        ("kinesis.subscribeToShard.timeoutSec", "7200", "fan_out.settings.timeout_s", 3600.0, "1 h"),
        ("kinesis.subscribeToShard.maxRetries", "5000", "fan_out.settings.retries", 1000, "1000"),
    ],
)
def test_values_of_awslabs(name: str, value: str, attribute: str, parsed: object, shown: str) -> None:
    """A value that awslabs accepts counts as our nearest one, and a line in the log says so."""
    options = parse(**{name: value}, consumerType="SubscribeToShard", consumerName="me")
    assert look_up(options, attribute) == parsed
    assert options.ignored == (f"Option '{name}' set to '{value}' counts as {shown}, the nearest value.",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kinesis.clientNumRetries", "-1"),
        ("kinesis.client.numRetries", "101"),
    ],
)
def test_values_that_stay_refused(name: str, value: str) -> None:
    """Values that awslabs refuses are refused."""
    with pytest.raises(OptionError, match=r"is '.*'\. Use "):
        parse(**{name: value})


def test_connections_of_all_threads() -> None:
    """A task reads while the driver plans: a client keeps the connections of both."""
    too_many = CONNECTIONS - ReadSettings().threads + 1
    with pytest.raises(OptionError, match="planningThreads"):
        parse(planningThreads=str(too_many))


def test_region_of_awslabs() -> None:
    """A job of awslabs whose region is not the endpoint's publishes in its region, to awslabs' table, and reads at the endpoint."""
    endpoint = "https://kinesis.eu-west-1.amazonaws.com"
    given = {"kinesis.region": "us-east-2", "endpointUrl": endpoint, "metadataCommitterType": "DYNAMODB"}
    options = SourceOptions.parse({"streamName": "orders", **given})
    assert options.lease_table == "kdsc_us-east-2_orders"
    assert options.connection.region_of(options.connection.streams[0]) == "eu-west-1"
    [reason] = options.ignored
    assert reason.startswith("Option 'kinesis.region' set to 'us-east-2' is the region of STS")
