"""The shared options as a connection: names, ARNs, region, retries."""

from __future__ import annotations

from itertools import permutations
from operator import attrgetter
from typing import Any

import pytest

from kinesis_core.aws import Connection, StreamRef, Transport
from kinesis_core.errors import OptionError
from kinesis_core.options import (
    COMMON_OPTIONS,
    COMMON_UNSUPPORTED,
    SPARK,
    SPARK_OPTIONS,
    OptionTable,
    aliases_of,
    ignored_region,
    read_connection,
)
from kinesis_core.options.credentials import CREDENTIALS
from kinesis_core.options.option import normalise
from kinesis_core.options.proxy import PROXY

TABLE = OptionTable(COMMON_OPTIONS, COMMON_UNSUPPORTED, let_through=SPARK_OPTIONS)
ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
OTHER_ACCOUNT = "arn:aws:kinesis:eu-west-1:210987654321:stream/orders"
OTHER_REGION = "arn:aws:kinesis:eu-west-2:123456789012:stream/payments"
KEYS = {"awsAccessKeyId": "AKIDEXAMPLE", "awsSecretKey": "s3cr3t"}


def connect(**given: object) -> Connection:
    return read_connection(TABLE.read(given))


# The attribute, its value; then each name of the option with a text for that value.
CASES: list[tuple[str, Any, dict[str, str]]] = [
    (
        "retry.max_retries",
        0,
        {"maxRetries": "0", "kinesis.clientNumRetries": "0", "client.numRetries": "0", "numRetries": "0"},
    ),
    (
        "retry.interval_s",
        0.1,
        {
            "retryInterval": "0.1 s",
            "kinesis.clientRetryIntervalsMs": "100",
            "kinesis.client.retryIntervalMs": "100",
            "retryIntervalMs": "100",
        },
    ),
    (
        "retry.max_interval_s",
        30.0,
        {
            "maxRetryInterval": "30",
            "kinesis.clientMaxRetryIntervalMs": "30000",
            "kinesis.client.maxRetryIntervalMs": "30000",
            "maxRetryIntervalMs": "30000",
        },
    ),
    ("retry.outage_timeout_s", 300.0, {"outageTimeout": "5 m"}),
    ("transport", Transport.BOTOCORE, {"httpTransport": "botocore"}),
    (
        "endpoint_url",
        "https://kinesis.eu-west-1.amazonaws.com",
        {
            "endpointUrl": "https://kinesis.eu-west-1.amazonaws.com",
            "kinesis.endpointUrl": "https://kinesis.eu-west-1.amazonaws.com/",
            "endpoint": "kinesis.eu-west-1.amazonaws.com",
        },
    ),
    ("check_permissions", False, {"checkPermissions": "false"}),
]
REGIONS = ("region", "kinesis.region", "kinesis.kinesisRegion", "regionName")


@pytest.mark.parametrize(
    ("name", "value", "path", "expected"),
    [(name, value, path, expected) for path, expected, names in CASES for name, value in names.items()],
)
def test_names(name: str, value: str, path: str, expected: object) -> None:
    """Every name of an option sets the value, in its connector's unit."""
    look_up = attrgetter(path)
    assert look_up(connect(streamName="orders", region="eu-west-1")) != expected
    assert look_up(connect(streamName="orders", region="eu-west-1", **{name: value})) == expected


@pytest.mark.parametrize("name", REGIONS)
def test_regions(name: str) -> None:
    """The region works by the names of all connectors."""
    assert connect(streamName="orders", **{name: "eu-west-2"}).region == "eu-west-2"


def test_every_option_has_a_case() -> None:
    """Every option that is not about credentials or a proxy has a case here, by every name."""
    tried = {normalise(name) for names in (REGIONS, *(case[2] for case in CASES)) for name in names}
    elsewhere = {"streamName", "streamARN", "streamRegion", "wireFormat", "freezeWorkerHeap"}
    for option in COMMON_OPTIONS:
        if option.name not in elsewhere and option.group not in (CREDENTIALS.title, PROXY.title):
            assert {normalise(name) for name in (option.name, *(a.name for a in aliases_of(option)))} <= tried


def test_least() -> None:
    """A stream and a region are enough."""
    assert connect(streamName="orders", region="eu-west-1") == Connection(
        streams=(StreamRef("orders"),), region="eu-west-1"
    )


def test_several_streams() -> None:
    """Several streams keep their order."""
    assert connect(streamName="b,a", region="eu-west-1").streams == (StreamRef("b"), StreamRef("a"))


@pytest.mark.parametrize("names", [{}, {"streamName": "orders"}])
def test_arn(names: dict[str, str]) -> None:
    """An ARN has name and region. The name of the same stream may be given as well."""
    connection = connect(streamARN=ARN, **names)
    assert connection.streams == (StreamRef("orders", ARN),)
    assert connection.region == "eu-west-1"


def test_arns_of_other_accounts_and_regions() -> None:
    """Streams of several accounts and regions may be read together, also with equal names."""
    connection = connect(streamARN=f"{ARN},{OTHER_ACCOUNT},{OTHER_REGION}")
    assert [stream.name for stream in connection.streams] == ["orders", "orders", "payments"]
    assert [stream.region for stream in connection.streams] == ["eu-west-1", "eu-west-1", "eu-west-2"]
    assert connection.region == "eu-west-1"


@pytest.mark.parametrize(
    ("given", "region", "stream_region"),
    [
        ({"region": "eu-west-1"}, "eu-west-1", "eu-west-1"),
        ({"kinesis.kinesisRegion": "eu-west-2"}, "eu-west-2", "eu-west-2"),
        ({"kinesis.region": "eu-west-1", "kinesis.kinesisRegion": "eu-west-2"}, "eu-west-1", "eu-west-2"),
        ({"region": "eu-west-1", "streamRegion": "eu-west-1"}, "eu-west-1", "eu-west-1"),
        (
            {
                "region": "eu-west-1",
                "streamRegion": "us-west-2",
                "endpointUrl": "https://kinesis.us-west-2.amazonaws.com",
            },
            "eu-west-1",
            "us-west-2",
        ),
    ],
)
def test_two_regions(given: dict[str, str], region: str, stream_region: str) -> None:
    """A query may run in one region and read streams of another. One of the two options applies to both."""
    connection = connect(streamName="orders", **given)
    assert connection.region == region
    assert connection.region_of(connection.streams[0]) == stream_region


ENDPOINT = "https://kinesis.eu-west-1.amazonaws.com"


def read_by_awslabs(**given: object) -> Connection:
    return read_connection(TABLE.read({"streamName": "orders", **given}), endpoint_goes_first=True)


@pytest.mark.parametrize("name", ["kinesis.region", "KINESIS.REGION"])
@pytest.mark.parametrize("url", [ENDPOINT, "https://vpce-1a2b.kinesis.eu-west-1.vpce.amazonaws.com"])
def test_region_of_awslabs(name: str, url: str) -> None:
    """With awslabs' `kinesis.region`, DynamoDB is called there and Kinesis in the region of the endpoint. The log says so."""
    given = {"streamName": "orders", "endpointUrl": url, name: "us-east-2"}
    connection = read_by_awslabs(**given)
    assert connection.region == "us-east-2"
    assert connection.region_of(connection.streams[0]) == "eu-west-1"
    assert ignored_region(TABLE.read(given), connection) == (
        "Option 'kinesis.region' set to 'us-east-2' is the region of STS and DynamoDB. Kinesis is called in 'eu-west-1', the "
        "region of 'endpointUrl'.",
    )


@pytest.mark.parametrize(
    "given",
    [
        {"kinesis.region": "eu-west-1", "endpointUrl": ENDPOINT},
        {"kinesis.region": "us-east-2", "endpointUrl": "https://kinesis.example.com"},
        {"kinesis.region": "us-east-2"},
        {"kinesis.region": "us-east-2", "kinesis.kinesisRegion": "eu-west-1", "endpointUrl": ENDPOINT},
        {
            "region": "us-east-2",
            "kinesis.region": "us-east-2",
            "kinesis.kinesisRegion": "eu-west-1",
            "endpointUrl": ENDPOINT,
        },
        {"region": "eu-west-1", "kinesis.region": "eu-west-1", "endpointUrl": ENDPOINT},
    ],
)
def test_regions_of_awslabs_that_agree(given: dict[str, str]) -> None:
    """The log has no line if no region contradicts the endpoint."""
    assert ignored_region(TABLE.read(given), read_by_awslabs(**given)) == ()


@pytest.mark.parametrize(
    "given",
    [
        {"region": "us-east-2"},
        {"regionName": "us-east-2"},
        {"kinesis.regionName": "us-east-2"},
        {"kinesis.region": "us-east-2", "kinesis.kinesisRegion": "us-east-2"},
        {"kinesis.region": "us-east-2", "streamARN": ARN},
    ],
)
def test_regions_that_contradict(given: dict[str, str]) -> None:
    """Any other region that is not the endpoint's is an error: ours, qubole's, that of the streams, or one beside an ARN."""
    with pytest.raises(OptionError, match="The regions contradict each other"):
        read_by_awslabs(endpointUrl=ENDPOINT, **given)


@pytest.mark.parametrize("names", list(permutations(["region", "kinesis.region"])))
def test_both_names_of_the_region(names: tuple[str, str]) -> None:
    """Ours is the region of the streams and awslabs' is not, so both at another endpoint are an error, in any order."""
    with pytest.raises(OptionError) as caught:
        read_by_awslabs(endpointUrl=ENDPOINT, **dict.fromkeys(names, "us-east-2"))
    assert str(caught.value) == (
        "Options 'region' and 'kinesis.region' contradict each other: 'region' is the region of the streams, "
        "'kinesis.region' is not, and 'endpointUrl' is in 'eu-west-1'. Keep one of them."
    )


@pytest.mark.parametrize("names", list(permutations(["region", "kinesis.region"])))
def test_different_regions_by_both_names(names: tuple[str, str]) -> None:
    """Two names of the region with different values are an error that names both, in any order."""
    first, second = names
    with pytest.raises(
        OptionError, match=f"Options '{first}' and '{second}' set the same thing to different"
    ):
        connect(streamName="orders", **{first: "eu-west-1", second: "us-east-2"})


def test_region_of_awslabs_in_a_sink() -> None:
    """For writing it is an error: awslabs' sink writes to that region, and not to the endpoint's."""
    with pytest.raises(OptionError, match="The regions contradict each other"):
        connect(streamName="orders", endpointUrl=ENDPOINT, **{"kinesis.region": "us-east-2"})


def test_region_beside_an_arn() -> None:
    """A stream is called in the region of its ARN, also if the query runs in another."""
    connection = connect(streamARN=ARN, region="us-west-2", streamRegion="eu-west-1")
    assert connection.region == "us-west-2"
    assert connection.region_of(connection.streams[0]) == "eu-west-1"


def test_custom_endpoint() -> None:
    """An endpoint outside AWS needs no region."""
    connection = connect(streamName="orders", endpoint="localhost:4567")
    assert connection.endpoint_url == "https://localhost:4567"
    assert connection.region == "us-east-1"


@pytest.mark.parametrize(
    ("given", "intervals"),
    [
        ({}, (1.0, 10.0)),
        ({"retryInterval": "20 s"}, (20.0, 20.0)),
        ({"maxRetryInterval": "500 ms"}, (0.5, 0.5)),
        ({"kinesis.clientRetryIntervalsMs": "200", "kinesis.clientMaxRetryIntervalMs": "5000"}, (0.2, 5.0)),
    ],
)
def test_retry_intervals(given: dict[str, str], intervals: tuple[float, float]) -> None:
    """If only one interval is given, the default of the other is adjusted to it."""
    connection = connect(streamName="orders", region="eu-west-1", **given)
    assert (connection.retry.interval_s, connection.retry.max_interval_s) == intervals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"region": "eu-west-1"}, "Option 'streamName' or 'streamARN' is required."),
        (
            {"path": "orders", "region": "eu-west-1"},
            "Option 'streamName' or 'streamARN' is required. The argument of load() does not name a stream.",
        ),
        (
            {"streamName": "payments", "streamARN": ARN},
            "Option 'streamName' names payments, and Option 'streamARN' names orders. Keep one of them.",
        ),
        (
            {"streamARN": f"{ARN},{OTHER_REGION}", "endpointUrl": "https://kinesis.eu-west-1.amazonaws.com"},
            "The regions contradict each other: 'eu-west-1' (a stream's ARN), 'eu-west-2' (a stream's ARN), "
            "'eu-west-1' (the endpoint). An endpoint of AWS serves one region.",
        ),
        (
            {"streamARN": ARN, "region": "eu-west-2"},
            "The regions contradict each other: 'eu-west-2' (the region given), 'eu-west-1' (a stream's ARN). "
            "Leave the region out.",
        ),
        (
            {"streamName": "orders"},
            "No AWS region was found. Set the option 'region' (such as 'eu-west-1'), name the stream by its ARN, "
            "set AWS_DEFAULT_REGION, or give the profile a region.",
        ),
        (
            {"streamName": "orders", "awsProfile": "team"},
            "The AWS configuration has no profile 'team'. Correct the name, or add it on driver and executors.",
        ),
        (
            {"streamARN": ARN, "awsAccessKey": "AKID"},
            "Option 'awsAccessKey' ('awsAccessKeyId' here) also requires 'awsSecretKey'.",
        ),
        (
            {"streamARN": ARN, "awsSecretKey": "s3cr3t"},
            "Option 'awsSecretKey' also requires 'awsAccessKeyId'.",
        ),
        (
            {"streamARN": ARN, "sessionToken": "t0ken"},
            "Option 'sessionToken' also requires 'awsAccessKeyId' and 'awsSecretKey'.",
        ),
        (
            {"streamARN": ARN, "awsProfile": "team", **KEYS},
            "Option 'awsAccessKeyId' and Option 'awsProfile' are two sources of credentials. Keep one of them.",
        ),
        (
            {"streamARN": ARN, "awsAccessKeyId": "AKID", "awsSecretKey": "s3 cr3t"},
            "Option 'awsAccessKeyId' or a part that belongs to it is damaged. The secret key has white space, a control "
            "character or a letter outside ASCII in it; copy it again without it.",
        ),
        (
            {"streamARN": ARN, "retryInterval": "20 s", "maxRetryInterval": "10 s"},
            "Option 'retryInterval' is 20 s. Use at most the value of 'maxRetryInterval', 10 s.",
        ),
    ],
)
def test_refusals(given: dict[str, str], message: str) -> None:
    """A refusal names what is missing or contradicts, and what to do. It has no secret."""
    with pytest.raises(OptionError) as caught:
        connect(**given)
    caught.value.words = SPARK  # as at the front door
    assert str(caught.value) == message


def test_routed_rows() -> None:
    """A sink that routes each row needs no stream."""
    values = TABLE.read({"region": "eu-west-1"})
    assert read_connection(values, needs_stream=False).streams == ()
