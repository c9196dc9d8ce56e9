"""Credentials in Spark: the driver and the Python workers each get keys from the same options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator
from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request
from spark.sinks import write
from support.callers import Callers
from support.checks import is_check
from support.key_services import KeyServices
from support.recording_proxy import RecordingProxy
from support.spark_harness import Query
from support.streams import KEY_ID, StreamUnderTest

OTHER_ACCOUNT = "210987654321"
ROLE = {"stsRoleArn": f"arn:aws:iam::{OTHER_ACCOUNT}:role/reader", "stsSessionName": "tests"}
MakeQuery = Callable[..., Query]


@pytest.fixture
def callers(emulator: Emulator) -> Callers:
    """Return the recorder of the calls that the emulator receives from now on."""
    emulator.settings.fault = callers = Callers()
    return callers


@pytest.fixture
def sts() -> Iterator[KeyServices]:
    with KeyServices() as services:
        yield services


def number_sessions(sts: KeyServices) -> None:
    """Give each session of *sts* its own access key."""
    sts.name_key = lambda asked: f"ASIASESSION{asked.number}"


def put_in_other_account(emulator: Emulator, count: int, name: str = "orders") -> list[bytes]:
    """Put records into a stream that only keys of the other account find under its name."""
    mine, emulator.settings.account_id = emulator.settings.account_id, OTHER_ACCOUNT
    emulator.create_stream(name, shards=2)
    payloads = [str(number).encode() for number in range(count)]
    for payload in payloads:
        emulator.put(name, payload, partition_key=payload.decode())
    emulator.settings.account_id = mine
    return payloads


def options(emulator: Emulator, **more: Any) -> dict[str, Any]:
    """Return the options of a reader of `orders`. None removes an option."""
    given = {
        "streamName": "orders",
        "endpointUrl": emulator.endpoint_url,
        "region": "us-east-1",
        "startingPosition": "TRIM_HORIZON",
        "minFetchPeriod": "20 ms",
        "inlineRecords": "false",  # workers have to call
        **more,
    }
    return {name: value for name, value in given.items() if value is not None}


KEYS = {"awsAccessKeyId": KEY_ID, "awsSecretKey": "secret"}


@pytest.mark.all_sparks
def test_role(emulator: Emulator, callers: Callers, sts: KeyServices, make_query: MakeQuery) -> None:
    """Driver and workers assume a role in another account, with an external id, using the given keys."""
    payloads = put_in_other_account(emulator, 40)
    sts.external_id = "agreed-on"
    given = {**KEYS, **ROLE, "stsExternalId": "agreed-on", "stsEndpointUrl": sts.url}
    query = make_query(options(emulator, **given)).start().wait_for_rows(40).stop()
    assert sorted(query.payloads) == sorted(payloads)
    assert callers.keys() == {OTHER_ACCOUNT}
    assert {asked.access_key for asked in sts.asked} == {KEY_ID}
    assert {asked.params["RoleArn"] for asked in sts.asked} == {ROLE["stsRoleArn"]}


def test_each_process_assumes_the_role(
    emulator: Emulator, stream: StreamUnderTest, callers: Callers, sts: KeyServices, make_query: MakeQuery
) -> None:
    """Workers sign with sessions that they requested themselves, not with those of the driver."""
    number_sessions(sts)
    stream.put_numbers(20)
    callers.calls.clear()
    given = {**ROLE, "stsEndpointUrl": sts.url, "streamName": stream.name}
    make_query(options(emulator, **KEYS, **given)).start().wait_for_rows(20).stop()
    on_driver = callers.keys("ListShards") | callers.keys("DescribeStreamSummary")
    in_workers = callers.keys("GetRecords") - on_driver
    assert on_driver
    assert in_workers
    assert callers.keys().isdisjoint({KEY_ID})


def test_role_is_assumed_again_when_its_session_ends(
    emulator: Emulator, stream: StreamUnderTest, sts: KeyServices, make_query: MakeQuery
) -> None:
    """If AWS reports a session as expired in the middle of a batch, the worker gets another one. Nothing is lost or repeated."""
    stream.put_numbers(60)
    number_sessions(sts)
    fetched: Counter[str] = Counter()

    def expire(request: Request) -> Fault | None:
        """Refuse a session after three fetches."""
        if request.action == "GetRecords" and not is_check(request):
            fetched[request.access_key] += 1
        is_over = fetched[request.access_key] > 3
        return Fault("ExpiredTokenException", "The security token is expired.") if is_over else None

    emulator.settings.fault = Callers(expire)
    given = {**KEYS, **ROLE, "stsEndpointUrl": sts.url, "streamName": stream.name, "maxRecordsPerFetch": "5"}
    query = make_query(options(emulator, **given)).start(availableNow=True).finish()
    assert query.payloads == stream.payloads
    assert len(query.batches) == 1
    assert len(sts.asked) > 4


def test_role_is_assumed_again_before_its_session_ends(
    emulator: Emulator, stream: StreamUnderTest, sts: KeyServices, make_query: MakeQuery
) -> None:
    """A batch that takes longer than a session lasts continues with the next session."""
    stream.put_numbers(40)
    number_sessions(sts)
    sts.life_s = 3.0
    emulator.settings.fault = callers = Callers()
    given = {**KEYS, **ROLE, "stsEndpointUrl": sts.url, "streamName": stream.name}
    slow = {"maxRecordsPerFetch": "1", "minFetchPeriod": "100 ms"}  # 4 s for the batch
    query = make_query(options(emulator, **given, **slow)).start(availableNow=True).finish()
    assert query.payloads == stream.payloads
    on_driver = callers.keys("ListShards") | callers.keys("DescribeStreamSummary")
    assert len(callers.keys("GetRecords") - on_driver) >= 2


def test_class_of_the_users(emulator: Emulator, callers: Callers, make_query: MakeQuery) -> None:
    """Driver and executors create the user's class by its dotted path with its parameter, and use its keys."""
    payloads = put_in_other_account(emulator, 20)
    given = {
        "credentialProviderClass": "support.vault.Vault",
        "credentialProviderParam": f"{OTHER_ACCOUNT}:open",
    }
    query = make_query(options(emulator, **given)).start().wait_for_rows(20).stop()
    assert sorted(query.payloads) == sorted(payloads)
    assert callers.keys() == {OTHER_ACCOUNT}


@pytest.mark.all_sparks
def test_sink(emulator: Emulator, callers: Callers, sts: KeyServices, spark: SparkSession) -> None:
    """
    The tasks of a sink write through the proxy with a role, assumed with the keys of a user's class. The driver checks the
    stream in the same way.
    """
    put_in_other_account(emulator, 0)
    frame = spark.range(40).selectExpr("cast(id AS string) AS data").repartition(2)
    with RecordingProxy() as proxy:
        given = {
            "credentialProviderClass": "support.vault.Vault",
            "credentialProviderParam": "AKIAOFTHEVAULT:open",
            **ROLE,
            "stsEndpointUrl": sts.url,
            "proxyUrl": f"http://clerk:word@127.0.0.1:{proxy.port}",
        }
        where = {"streamName": "orders", "endpointUrl": emulator.endpoint_url, "region": "us-east-1"}
        write(frame, {**where, **given, "aggregationEnabled": "false"})
        through = [asked.target for asked in proxy.asked]
    emulator.settings.account_id = OTHER_ACCOUNT
    assert len(emulator.records("orders")) == 40
    assert callers.keys("PutRecords") == callers.keys("DescribeStreamSummary") == {OTHER_ACCOUNT}
    assert {asked.access_key for asked in sts.asked} == {"AKIAOFTHEVAULT"}
    assert through.count(f"{emulator.endpoint_url}/") == len(callers.calls)
    assert through.count(f"{sts.url}/") == len(sts.asked)


@pytest.mark.all_sparks
def test_streams_of_several_accounts_and_regions(
    emulator: Emulator, callers: Callers, make_query: MakeQuery
) -> None:
    """One query reads streams by ARN, each in the region of its ARN, even if they have the same name."""
    arns = []
    for region, account in (("us-east-1", "111111111111"), ("eu-west-1", "222222222222")):
        emulator.settings.region, emulator.settings.account_id = region, account
        arns.append(emulator.create_stream("orders"))
        emulator.put("orders", region)
    given = {**KEYS, "streamName": None, "region": None, "streamARN": ",".join(arns)}
    schema = "data binary, stream string, streamName string"
    query = make_query(options(emulator, **given), schema=schema).start().wait_for_rows(2).stop()
    assert {(row.stream, bytes(row.data).decode(), row.streamName) for row in query.rows} == {
        (arns[0], "us-east-1", "orders"),
        (arns[1], "eu-west-1", "orders"),
    }
    assert callers.regions("orders") == {"us-east-1", "eu-west-1"}


def test_region_of_the_streams(emulator: Emulator, sts: KeyServices, make_query: MakeQuery) -> None:
    """With the two regions of the awslabs connector, streams are called in one region and STS in the other."""
    emulator.settings.region = "eu-west-1"
    payloads = put_in_other_account(emulator, 5)
    emulator.settings.fault = callers = Callers()
    regions = {"region": None, "kinesis.region": "us-west-2", "kinesis.kinesisRegion": "eu-west-1"}
    given = {**KEYS, **ROLE, "stsEndpointUrl": sts.url, **regions}
    query = make_query(options(emulator, **given)).start().wait_for_rows(5).stop()
    assert sorted(query.payloads) == sorted(payloads)
    assert callers.regions("orders") == {"eu-west-1"}
    assert {asked.region for asked in sts.asked} == {"us-west-2"}


def test_odd_names(make_stream: Callable[..., StreamUnderTest], make_query: MakeQuery) -> None:
    """Names may consist of dots, underscores and hyphens, and have 128 characters."""
    streams = [make_stream(name) for name in (".", "_-.", "Orders.v1_a-b", "x" * 128)]
    for stream in streams:
        stream.put(stream.name)
    names = ",".join(stream.name for stream in streams)
    query = make_query(streams[0].options(streamName=names)).start().wait_for_rows(len(streams)).stop()
    assert {(row.streamName, bytes(row.data).decode()) for row in query.rows} == {
        (stream.name, stream.name) for stream in streams
    }


def test_no_credentials(spark: SparkSession, emulator: Emulator, make_query: MakeQuery) -> None:
    """Without credentials, load() reports each source that was tried and why it failed. With a schema, start() reports it."""
    with pytest.raises(Exception, match="No AWS credentials were found") as caught:
        spark.readStream.format("kinesis").options(**options(emulator)).load()
    message = str(caught.value)
    for tried in (
        "env: AWS_ACCESS_KEY_ID is not set",
        "container-role: ",
        "iam-role: AWS_EC2_METADATA_DISABLED",
    ):
        assert tried in message
    query = make_query(options(emulator), schema="data binary")
    with pytest.raises(Exception, match=r"\[tried=env: AWS_ACCESS_KEY_ID is not set"):
        query.start().process_all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({**KEYS, **ROLE}, "RoleRefusedError.*STS AssumeRole for .* failed: AccessDenied .*sts:AssumeRole"),
        (
            {"credentialProviderClass": "support.vault.Vault", "credentialProviderParam": ":S3cr3tPassw0rd"},
            r"support.vault.Vault failed: PermissionError: the vault does not open with \*{4}",
        ),
    ],
)
def test_refusals(
    given: dict[str, str], message: str, spark: SparkSession, emulator: Emulator, sts: KeyServices
) -> None:
    """An error of a source is reported at load(), with what to do and without secrets."""
    sts.refusal = "AccessDenied"
    more = {"stsEndpointUrl": sts.url} if "stsRoleArn" in given else {}
    with pytest.raises(Exception, match=message) as caught:
        spark.read.format("kinesis").options(**options(emulator, **given, **more)).load()
    assert "S3cr3tPassw0rd" not in str(caught.value)
