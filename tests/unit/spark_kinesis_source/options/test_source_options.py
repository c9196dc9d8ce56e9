"""The options of the source: every one of them, by every name."""

from __future__ import annotations

import json
import os
import pickle
import re
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import asdict

from kinesis_core.aws import Transport, WireFormat
from kinesis_core.aws.clients import CONNECTIONS
from kinesis_core.errors import OptionError
from kinesis_core.model import AtTimestamp, KclApplication, Latest, PerShard, TrimHorizon
from kinesis_core.options import Origin, aliases_of
from kinesis_core.options.credentials import CREDENTIALS
from kinesis_core.options.proxy import PROXY
from kinesis_core.reading import ReadSettings
from kinesis_credentials import StaticKeys
from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
from spark_kinesis_source.options.fan_out import FAN_OUT

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

# Our name, the attribute, its default, a value, the parsed value; then the names of other connectors with equal values.
CASES: list[tuple[str, str, Any, str, Any, dict[str, str]]] = [
    (
        "startingPosition",
        "starting_position",
        Latest(),
        "AT_TIMESTAMP 2026-01-31T09:00:00Z",
        AT_TIME,
        {
            "kinesis.startingPosition": "AT_TIMESTAMP 2026-01-31T14:30:00+05:30",
            "initialPosition": '{"at_timestamp": "01/31/2026 01:00:00 PST", "format": "MM/dd/yyyy HH:mm:ss ZZZ"}',
        },
    ),
    ("endingPosition", "ending_position", Latest(), "AT_TIMESTAMP 1769850000", AT_TIME, {}),
    ("failOnDataLoss", "read.fail_on_data_loss", True, "false", False, {"kinesis.failOnDataLoss": "FALSE"}),
    ("trimHorizonMargin", "plan.trim_horizon_margin_s", 300.0, "10 m", 600.0, {}),
    (
        "maxRecordsPerShard",
        "plan.limits.max_records",
        100_000,
        "500",
        500,
        {"kinesis.maxFetchRecordsPerShard": "500", "kinesis.executor.maxFetchRecordsPerShard": "500"},
    ),
    ("minRecordsPerTrigger", "min_records_per_trigger", 1, "500", 500, {}),
    ("maxShardSkew", "plan.max_shard_skew_s", 10.0, "1min", 60.0, {}),
    ("maxTriggerDelay", "max_trigger_delay_s", 900.0, "10s", 10.0, {}),
    (
        "maxBytesPerShard",
        "plan.limits.max_bytes",
        None,
        "20m",
        20 * MIB,
        {
            "kinesis.maxFetchTimePerShardSec": "10",
            "kinesis.executor.maxFetchTimeInMs": "10000",
            "maxFetchDuration": "10s",
        },
    ),
    ("maxRecordsPerTrigger", "plan.batch_limits.max_records", None, "500", 500, {}),
    (
        "maxBytesPerBatch",
        "plan.batch_limits.max_bytes",
        None,
        "20gb",
        20 * 1024 * MIB,
        {"fetchBufferSize": "20gb"},
    ),
    (
        "maxRecordsPerFetch",
        "read.max_records_per_fetch",
        10_000,
        "100",
        100,
        {"kinesis.getRecords.numberOfRecordsPerFetch": "100", "kinesis.executor.maxRecordPerRead": "100"},
    ),
    (
        "minFetchPeriod",
        "read.min_fetch_period_s",
        0.2,
        "1 s",
        1.0,
        {"kinesis.getRecords.fetchIntervalMs": "1000"},
    ),
    ("maxFetchRate", "read.max_fetch_rate_bytes", 2.0 * MIB, "1.0", 1.0 * MIB, {}),
    ("shardsPerTask", "shards_per_task", 16, "5", 5, {}),
    ("maxPartitions", "max_partitions", None, "4", 4, {}),
    (
        "shardDiscoveryInterval",
        "plan.shard_discovery_interval_s",
        10.0,
        "1s",
        1.0,
        {
            "kinesis.describeShardInterval": "1s",
            "kinesis.client.describeShardInterval": "1000",
            "shardFetchInterval": "1s",
        },
    ),
    (
        "planningThreads",
        "planning_threads",
        8,
        "2",
        2,
        {"kinesis.checkNewRecordThreads": "2", "kinesis.client.maxParallelThreads": "2"},
    ),
    ("planBudget", "plan.plan_budget_s", 2.0, "500 ms", 0.5, {}),
    ("deaggregate", "deaggregate", True, "false", False, {}),
    ("checkPermissions", "connection.check_permissions", True, "false", False, {}),
    ("freezeWorkerHeap", "freeze_worker_heap", True, "false", False, {}),
    (
        "maxRetries",
        "connection.retry.max_retries",
        5,
        "0",
        0,
        {"kinesis.clientNumRetries": "0", "client.numRetries": "0"},
    ),
    (
        "retryInterval",
        "connection.retry.interval_s",
        1.0,
        "0.1 s",
        0.1,
        {"kinesis.clientRetryIntervalsMs": "100", "kinesis.client.retryIntervalMs": "100"},
    ),
    (
        "maxRetryInterval",
        "connection.retry.max_interval_s",
        10.0,
        "30",
        30.0,
        {"kinesis.clientMaxRetryIntervalMs": "30000", "kinesis.client.maxRetryIntervalMs": "30000"},
    ),
    ("httpTransport", "connection.transport", None, "botocore", Transport.BOTOCORE, {}),
    ("wireFormat", "connection.wire_format", WireFormat.JSON, "cbor", WireFormat.CBOR, {}),
    ("outageTimeout", "connection.retry.outage_timeout_s", 60.0, "5 m", 300.0, {}),
    (
        "endpointUrl",
        "connection.endpoint_url",
        None,
        "https://kinesis.eu-west-1.amazonaws.com",
        "https://kinesis.eu-west-1.amazonaws.com",
        {
            "kinesis.endpointUrl": "https://kinesis.eu-west-1.amazonaws.com/",
            "endpoint": "kinesis.eu-west-1.amazonaws.com",
        },
    ),
]


@pytest.fixture(autouse=True)
def _no_aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


def parse(**given: object) -> SourceOptions:
    return SourceOptions.parse({**LEAST, **given})


def look_up(options: SourceOptions, path: str) -> object:
    value: Any = options
    for name in path.split("."):
        value = getattr(value, name)
    return value


def spell(name: str) -> Iterator[str]:
    """Yield *name* as users and Spark spell it."""
    bare = name.removeprefix("kinesis.")
    yield from (name, name.lower(), name.upper(), bare, f"kinesis.{bare}", f"KINESIS.{bare.lower()}")


@pytest.mark.parametrize(("path", "default"), [(case[1], case[2]) for case in CASES])
def test_defaults(path: str, default: object) -> None:
    """An option that is not given has its default."""
    assert look_up(parse(), path) == default


@pytest.mark.parametrize(
    ("spelling", "value", "path", "expected"),
    [
        (spelling, value, path, expected)
        for ours, path, _, good, expected, others in CASES
        if expected is not None
        for name, value in {ours: good, **others}.items()
        for spelling in dict.fromkeys(spell(name))
    ],
)
def test_names(spelling: str, value: str, path: str, expected: object) -> None:
    """Every name of an option works in every spelling, with or without the prefix, in its connector's unit."""
    assert look_up(parse(**{spelling: value}), path) == expected


def test_every_option_has_a_case() -> None:
    """Every option has a case here, by every name."""
    elsewhere = {
        "streamName",
        "streamARN",
        "region",
        "streamRegion",
        "addIdleTimeBetweenReads",
        "idleTimeBetweenReadsInMs",
        "metadataCommitterType",
        "dynamodbTableName",
        "dynamodbEndpointUrl",
    }
    tried = {name.lower().removeprefix("kinesis.") for case in CASES for name in (case[0], *case[5])}
    for option in SOURCE_OPTIONS.options:
        if option.name not in elsewhere and option.group not in (CREDENTIALS, PROXY, FAN_OUT):
            names = {option.name, *(alias.name for alias in aliases_of(option))}
            assert {name.lower().removeprefix("kinesis.") for name in names} <= tried


@pytest.mark.parametrize("name", ["streamName", "kinesis.streamName", "STREAMNAME"])
def test_stream_names(name: str) -> None:
    """The option takes one name, or several."""
    options = SourceOptions.parse({name: "orders,payments", "kinesis.kinesisRegion": "eu-west-1"})
    assert [stream.name for stream in options.connection.streams] == ["orders", "payments"]


@pytest.mark.parametrize("name", ["region", "kinesis.region", "kinesis.kinesisRegion", "regionName"])
def test_regions(name: str) -> None:
    """The region works by the names of all connectors."""
    assert SourceOptions.parse({"streamName": "orders", name: "eu-west-2"}).connection.region == "eu-west-2"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maxRecordsPerFetch": "0"}, "Option 'maxRecordsPerFetch' accepts 1 to 10000 records; got '0'."),
        (
            {"maxRecordsPerFetch": "10001"},
            "Option 'maxRecordsPerFetch' accepts 1 to 10000 records; got '10001'.",
        ),
        ({"maxRecordsPerShard": "0"}, "Option 'maxRecordsPerShard' accepts 1 or more records; got '0'."),
        (
            {"kinesis.maxfetchtimepershardsec": "0"},
            "Option 'kinesis.maxFetchTimePerShardSec' ('maxBytesPerShard' here) accepts a duration of 1 ms to 1 d "
            "(seconds when no unit is given); got '0'.",
        ),
        (
            {"maxBytesPerShard": "some"},
            "Option 'maxBytesPerShard' accepts a size in bytes, such as 65536, 64m or 20gb; got 'some'.",
        ),
        (
            {"minFetchPeriod": "2 m"},
            "Option 'minFetchPeriod' accepts a duration of 0 s to 1 m (milliseconds when no unit is given); "
            "got '2 m'.",
        ),
        (
            {"minRecordsPerTrigger": "0"},
            "Option 'minRecordsPerTrigger' accepts 1 or more records; got '0'.",
        ),
        (
            {"minRecordsPerTrigger": "9", "maxTriggerDelay": "2 h"},
            "Option 'maxTriggerDelay' accepts a duration of 0 s to 1 h (milliseconds when no unit is given); "
            "got '2 h'.",
        ),
        (
            {"minOffsetsPerTrigger": "9"},
            "Unknown option 'minOffsetsPerTrigger'. Use 'minRecordsPerTrigger', which counts the records of all shards, too.",
        ),
        ({"maxFetchRate": "0"}, "Option 'maxFetchRate' accepts 0.01 to 1000 MiB/s; got '0'."),
        ({"planningThreads": "0"}, "Option 'planningThreads' accepts 1 to 256 threads; got '0'."),
        (
            {"planBudget": "50"},
            "Option 'planBudget' accepts a duration of 100 ms to 10 m (milliseconds when no unit is given), or none; got '50'.",
        ),
        ({"shardsPerTask": "0"}, "Option 'shardsPerTask' accepts 1 to 10000 shards; got '0'."),
        ({"maxPartitions": "x"}, "Option 'maxPartitions' accepts 1 to 100000 partitions; got 'x'."),
        ({"deaggregate": "yes"}, "Option 'deaggregate' accepts true or false; got 'yes'."),
        ({"failOnDataLoss": ""}, "Option 'failOnDataLoss' accepts true or false; got ''."),
        ({"maxRetries": "-1"}, "Option 'maxRetries' accepts 0 to 100 retries; got '-1'."),
        (
            {"startingPosition": "AT_TIMESTAMP 2026-01-31T09:00:00"},
            "Option 'startingPosition' accepts LATEST, TRIM_HORIZON, EARLIEST, an ISO 8601 time, AT_TIMESTAMP with such a "
            "time or with seconds or milliseconds since the epoch, or JSON; got 'AT_TIMESTAMP 2026-01-31T09:00:00'. "
            "Add Z or an offset such as +02:00: without a zone the time depends on the machine.",
        ),
        (
            {"endingPosition": "TRIM_HORIZON"},
            "Option 'endingPosition' accepts LATEST, an ISO 8601 time, AT_TIMESTAMP with such a time or with seconds or "
            "milliseconds since the epoch, or JSON; got 'TRIM_HORIZON'.",
        ),
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
            {"kinesis.metadataCommitterType": "S3"},
            "Option 'metadataCommitterType' accepts HDFS or DYNAMODB; got 'S3'.",
        ),
        (
            {"kinesis.dynamodb.tableName": "my table"},
            "Option 'kinesis.dynamodb.tableName' ('dynamodbTableName' here) accepts the name of a DynamoDB table, "
            "3 to 255 letters, digits, '_', '.' and '-'; got 'my table'.",
        ),
        (
            {"minFetchPeriod": "200 ms", "addIdleTimeBetweenReads": "true"},
            "Option 'minFetchPeriod' and Option 'addIdleTimeBetweenReads' set the same thing to different values "
            "(0.2 s and 1 s). Keep one of them.",
        ),
        (
            {"maxrecordperfetch": "1"},
            "Unknown option 'maxrecordperfetch'. Did you mean 'maxRecordsPerFetch'?",
        ),
    ],
)
def test_refusals(given: dict[str, str], message: str) -> None:
    """A refusal names option, domain and value, and what to do."""
    with pytest.raises(OptionError) as caught:
        parse(**given)
    assert str(caught.value) == message


def test_credentials_of_databricks() -> None:
    """Credentials that only Databricks can look up are refused, with what to set instead."""
    with pytest.raises(
        OptionError, match=r"Option 'serviceCredential' needs .* does not support\. Set 'stsRoleArn'"
    ):
        parse(serviceCredential="team")


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
    assert reason == (
        "Option 'maxTriggerDelay' has no effect here: it belongs to 'minRecordsPerTrigger', which is not given."
    )
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


SECRETS = {
    "awsAccessKeyId": "AKIDVERYSECRETKEYID",
    "awsSecretKey": "v3ry-s3cr3t-k3y",
    "sessionToken": "v3ry-s3cr3t-t0k3n",
}


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"maxRecordsPerFetch": "0"},
        {"awsSecretKeyy": "v3ry-s3cr3t-k3y"},
        {"kinesis.awsSecretKey": "v3ry-s3cr3t-0ther"},
        {"kinesis.sessionToken": "v3ry-s3cr3t-0ther"},
        {"awsAccessKey": "AKIDVERYSECRETOTHER"},
        {"awsProfile": "team"},
        {"awsAccessKeyId": None},
        {"awsSecretKey": None},
        {"awsSecretKey": "v3ry-s3cr3t k3y"},
        {"proxyPassword": "v3ry-s3cr3t-pr0xy"},
        {"credentialProviderParam": "v3ry-s3cr3t-param"},
        {"credentialProviderClass": "company.aws.Vault", "credentialProviderParam": "v3ry-s3cr3t-param"},
        {"credentialProviderClass": "no path", "credentialProviderParam": "v3ry-s3cr3t-param"},
        {"stsRoleArn": "arn:aws:iam::123456789012:role/r", "stsExternalId": "v3ry-s3cr3t-id"},
        {
            "stsRoleArn": "arn:aws:iam::123456789012:role/r",
            "stsSessionName": "s",
            "stsExternalId": "v3ry s3cr3t id, v3ry-s3cr3t",
        },
        {
            "stsRoleArn": "arn:aws:iam::123456789012:role/r",
            "stsExternalId": "v3ry-s3cr3t-id",
            "roleExternalId": "v3ry-s3cr3t-0ther",
        },
        {"proxyUrl": "http://user:v3ry-s3cr3t@127.0.0.1:3128"},
        {"proxyUrl": "socks5://user:v3ry-s3cr3t@127.0.0.1:3128"},
        {"proxyUrl": "http://user:v3ry-s3cr3t@127.0.0.1:3128", "proxyAddress": "127.0.0.1"},
        {"proxyAddress": "127.0.0.1", "proxyUsername": "user", "proxyPassword": "v3ry-s3cr3t"},
        {"proxyAddress": "127.0.0.1", "proxyPassword": "v3ry-s3cr3t"},
        {"endpointUrl": "https://user:v3ry-s3cr3t@example.com"},
        {"endpointUrl": "https://user:v3ry-s3cr3t@[example.com"},
        {"region": None, "endpointUrl": "https://kinesis.amazonaws.com"},
    ],
)
def test_no_secret_is_shown(bad: dict[str, str | None]) -> None:
    """No repr, log line, message or traceback contains a secret."""
    try:
        options = SourceOptions.parse({**LEAST, **SECRETS, **bad})
    except OptionError as error:
        shown = repr(error) + repr(pickle.loads(pickle.dumps(error)))  # noqa: S301 - our own bytes
        shown += "".join(traceback.format_exception(error))
    else:
        copy = pickle.loads(pickle.dumps(options))  # noqa: S301 - our own bytes
        shown = repr(options) + str(copy) + repr(options.ignored) + repr(asdict(options, recurse=False))
    source_lines = re.findall(r"^ +.*$", shown, re.MULTILINE)
    for line in source_lines:  # the lines of code that a traceback quotes
        shown = shown.replace(line, "")
    assert "v3ry-s3cr3t" not in shown
    assert "AKIDVERYSECRET" not in shown


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
        ("minFetchPeriod", "120000"),
        ("maxRetries", "101"),
        ("maxRetryInterval", "301"),
        ("subscribeTimeout", "0"),
        ("subscribeRetries", "1001"),
        ("kinesis.clientNumRetries", "-1"),
        ("kinesis.client.numRetries", "101"),
    ],
)
def test_values_that_stay_refused(name: str, value: str) -> None:
    """Our names keep their domains, and values that awslabs refuses are refused."""
    with pytest.raises(OptionError, match="accepts"):
        parse(**{name: value})


def test_connections_of_all_threads() -> None:
    """A task reads while the driver plans: a client keeps the connections of both."""
    too_many = CONNECTIONS - ReadSettings().threads + 1
    with pytest.raises(OptionError, match="planningThreads"):
        parse(planningThreads=str(too_many))


def test_region_of_awslabs() -> None:
    """A job of awslabs whose region is not the endpoint's publishes in its region, to awslabs' table, and reads at the endpoint."""
    options = SourceOptions.parse(
        {
            "kinesis.region": "us-east-2",
            "kinesis.streamName": "orders",
            "kinesis.endpointUrl": "https://kinesis.eu-west-1.amazonaws.com",
            "kinesis.metadataCommitterType": "DYNAMODB",
        }
    )
    connection = options.connection
    assert options.lease_table == "kdsc_us-east-2_orders"
    assert [connection.region, connection.region_of(connection.streams[0])] == ["us-east-2", "eu-west-1"]
    assert [
        reason.startswith("Option 'kinesis.region' set to 'us-east-2' is the region of STS")
        for reason in options.ignored
    ] == [True]
