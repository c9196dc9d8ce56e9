"""Where calls go in each partition of AWS, with FIPS, dual-stack and accounts in hosts. No call is sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.session import Session

from kinesis_core.aws import Connection, StreamRef
from kinesis_core.options.connection import STREAM_ARN
from kinesis_core.options.credentials import STS_ROLE_ARN
from kinesis_credentials import StaticKeys
from support.resolved import calls_on, without_settings

KEYS = StaticKeys("AKIAEXAMPLE", "do-not-tell")
ACCOUNT = "123456789012"
VPC = "https://vpce-0a1b2c3d-abcdefgh.kinesis.eu-west-1.vpce.amazonaws.com"
PARTITIONS = {
    "eu-west-1": ("aws", "amazonaws.com", "api.aws"),
    "cn-north-1": ("aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    "us-gov-west-1": ("aws-us-gov", "amazonaws.com", "api.aws"),
    "eusc-de-east-1": ("aws-eusc", "amazonaws.eu", "api.amazonwebservices.eu"),
}
"""By region: the partition in ARNs, and the ends of hosts without and with dual-stack."""
SOVEREIGN = "eusc-de-east-1"
KNOWS_SOVEREIGN = "aws-eusc" in Session().get_available_partitions()
NEEDS_SOVEREIGN = pytest.mark.skipif(
    not KNOWS_SOVEREIGN, reason="this botocore is older than the European Sovereign Cloud"
)
REGIONS = [
    pytest.param(region, marks=NEEDS_SOVEREIGN if region == SOVEREIGN else ()) for region in PARTITIONS
]
DATA = ("GetShardIterator", "GetRecords", "PutRecords")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from without_settings(monkeypatch)


def arn_in(region: str) -> str:
    return f"arn:{PARTITIONS[region][0]}:kinesis:{region}:{ACCOUNT}:stream/orders"


@pytest.mark.parametrize("dual_stack", [False, True])
@pytest.mark.parametrize("region", REGIONS)
def test_a_stream_by_name_has_the_host_of_its_region(
    region: str, dual_stack: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All calls on a stream by name go to one host, signed for its region, whether botocore sends them or the fast path."""
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", str(dual_stack).lower())
    stream = StreamRef("orders")
    calls = calls_on(Connection((stream,), region, credentials=KEYS), stream)
    host = f"kinesis.{region}.{PARTITIONS[region][1 + dual_stack]}"
    assert {(call.host, call.region) for call in calls} == {(host, region)}


@pytest.mark.parametrize("is_fips", [False, True])
@pytest.mark.parametrize("region", REGIONS)
def test_a_stream_by_arn_has_hosts_of_its_account(
    region: str, is_fips: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ARN puts its owner's account into hosts. The fast path takes the host that botocore takes for the same call."""
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", str(is_fips).lower())
    stream = StreamRef.parse(arn_in(region))
    calls = calls_on(Connection((stream,), region, credentials=KEYS), stream)
    fips, suffix = "-fips" if is_fips else "", PARTITIONS[region][1]
    assert {call.action for call in calls} >= {*DATA, "ListShards", "DescribeStreamConsumer"}
    for call in calls:
        plane = "data" if call.action in DATA else "control"
        assert call.host == f"{ACCOUNT}.{plane}-kinesis{fips}.{region}.{suffix}"
        assert call.region == region


@pytest.mark.parametrize("setting", ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "UNRELATED"])
@pytest.mark.parametrize("name", ["orders", arn_in("eu-west-1")])
def test_an_endpoint_url_is_the_host_of_every_call(
    name: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`endpointUrl` takes precedence over FIPS, dual-stack and the account in an ARN."""
    monkeypatch.setenv(setting, "true")
    stream = StreamRef.parse(name)
    calls = calls_on(Connection((stream,), "eu-west-1", VPC, KEYS), stream)
    assert {(f"https://{call.host}", call.region) for call in calls} == {(VPC, "eu-west-1")}


@pytest.mark.parametrize("region", PARTITIONS)
def test_arns_of_each_partition_are_accepted(region: str) -> None:
    """Options accept the ARNs of streams and roles of each partition."""
    arn, role = arn_in(region), f"arn:{PARTITIONS[region][0]}:iam::{ACCOUNT}:role/team/reader"
    assert STREAM_ARN.parser.parse(arn) == (arn,)
    assert STS_ROLE_ARN.parser.parse(role) == role
    assert StreamRef.parse(arn).region == region
