"""The region comes from the user, then from the environment. It is never guessed for AWS."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import botocore
import pytest

from kinesis_credentials import (
    DefaultChain,
    Profile,
    RegionError,
    endpoints,
    find_endpoint_region,
    resolve_region,
)

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
OTHER_ARN = "arn:aws:kinesis:eu-west-2:123456789012:stream/orders"
AWS = "https://kinesis.eu-west-1.amazonaws.com"
LOCAL = "http://127.0.0.1:4567"


@pytest.mark.parametrize(
    ("arguments", "environment", "region"),
    [
        ({"region": "eu-west-1"}, {"AWS_DEFAULT_REGION": "eu-west-3"}, "eu-west-1"),
        ({"arns": [ARN, ARN]}, {"AWS_DEFAULT_REGION": "eu-west-3"}, "eu-west-1"),
        ({"endpoint_url": AWS}, {"AWS_DEFAULT_REGION": "eu-west-3"}, "eu-west-1"),
        ({"region": "eu-west-1", "arns": [ARN], "endpoint_url": AWS}, {}, "eu-west-1"),
        ({"endpoint_url": LOCAL}, {"AWS_DEFAULT_REGION": "eu-west-3"}, "eu-west-3"),
        ({}, {"AWS_DEFAULT_REGION": "eu-west-3", "AWS_REGION": "eu-west-4"}, "eu-west-3"),
        ({}, {"AWS_REGION": "eu-west-4"}, "eu-west-4"),
        ({"endpoint_url": LOCAL}, {}, "us-east-1"),
        ({"endpoint_url": LOCAL, "arns": [OTHER_ARN]}, {}, "eu-west-2"),
    ],
)
def test_order(
    arguments: dict[str, Any], environment: dict[str, str], region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order is: option, ARN, AWS endpoint, botocore's chain, AWS_REGION, and us-east-1 for endpoints outside AWS."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert resolve_region(DefaultChain(), **arguments) == region


def test_partitions_in_another_layout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If botocore keeps its data elsewhere or compressed, its own loader finds them."""
    found = endpoints._read_partitions()
    monkeypatch.setattr(botocore, "BOTOCORE_ROOT", str(tmp_path))
    assert endpoints._read_partitions() == found


def test_profile(aws_home: Path) -> None:
    """A profile's region is used."""
    (aws_home / "config").write_text("[profile team]\nregion=ap-southeast-2\n")
    assert resolve_region(Profile("team")) == "ap-southeast-2"


@pytest.mark.parametrize("endpoint_url", [None, "https://kinesis.amazonaws.com"])
def test_no_region(endpoint_url: str | None) -> None:
    """Without a region the error lists the settings that give one."""
    with pytest.raises(RegionError, match=r"No AWS region was found\. Set region "):
        resolve_region(DefaultChain(), endpoint_url=endpoint_url)


@pytest.mark.parametrize(
    "arguments",
    [
        {"region": "eu-west-2", "arns": [ARN]},
        {"region": "eu-west-3", "arns": [ARN, OTHER_ARN]},
        {"region": "eu-west-2", "endpoint_url": AWS},
        {"arns": [OTHER_ARN], "endpoint_url": AWS},
    ],
)
def test_contradiction(arguments: dict[str, Any]) -> None:
    """Two regions that contradict each other are refused. The error names both."""
    with pytest.raises(RegionError, match="contradict each other") as caught:
        resolve_region(DefaultChain(), **arguments)
    assert "'eu-west-1'" in str(caught.value)
    assert re.search("'eu-west-[23]'", str(caught.value))


@pytest.mark.parametrize(
    ("arguments", "region"),
    [
        ({"arns": [OTHER_ARN, ARN]}, "eu-west-2"),
        ({"arns": [OTHER_ARN, ARN], "region": "eu-west-1"}, "eu-west-1"),
        ({"arns": [OTHER_ARN, ARN], "endpoint_url": LOCAL}, "eu-west-2"),
    ],
)
def test_several_regions(arguments: dict[str, Any], region: str) -> None:
    """Streams may be in several regions. The session works in the option's region, else in that of the first stream."""
    assert resolve_region(DefaultChain(), **arguments) == region


def test_an_aws_endpoint_serves_one_region() -> None:
    """An AWS endpoint for streams of two regions is refused with the reason."""
    with pytest.raises(RegionError, match=r"An endpoint of AWS serves one region\.$"):
        resolve_region(DefaultChain(), arns=[ARN, OTHER_ARN], endpoint_url=AWS)


def test_not_an_arn() -> None:
    """A text that is not an ARN is quoted in the error."""
    with pytest.raises(RegionError, match="'orders' is not the ARN"):
        resolve_region(DefaultChain(), arns=["orders"])


@pytest.mark.parametrize(
    ("endpoint_url", "region"),
    [
        ("https://kinesis.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("https://kinesis.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("https://kinesis-fips.us-east-2.amazonaws.com", "us-east-2"),
        ("https://kinesis.eu-central-1.api.aws", "eu-central-1"),
        ("https://kinesis.cn-north-1.api.amazonwebservices.com.cn", "cn-north-1"),
        ("https://123456789012.data-kinesis.us-west-2.amazonaws.com", "us-west-2"),
        ("https://123456789012.control-kinesis-fips.us-east-1.api.aws", "us-east-1"),
        ("https://vpce-0a1b-us-east-1a.kinesis.us-east-1.vpce.amazonaws.com:443/", "us-east-1"),
        ("https://vpce-0a1b-cd.kinesis.cn-north-1.vpce.amazonaws.com.cn", "cn-north-1"),
        ("https://vpce-0a1b-cd.kinesis-fips.us-gov-west-1.vpce.amazonaws.com", "us-gov-west-1"),
        ("https://KINESIS.EU-WEST-1.AMAZONAWS.COM", "eu-west-1"),
        ("https://kinesis.us-iso-east-1.c2s.ic.gov", "us-iso-east-1"),
        ("http://localhost:4567", None),
        ("http://kinesis.eu-west-1.example.com", None),
        ("https://amazonaws.com.example.com", None),
        ("http://10.0.0.7:4567", None),
    ],
)
def test_endpoints(endpoint_url: str, region: str | None) -> None:
    """Only hosts of AWS give a region, in every partition that botocore knows: of FIPS, dual-stack, accounts and VPC endpoints too."""
    assert find_endpoint_region(endpoint_url) == region
    assert endpoints.is_aws_endpoint(endpoint_url) is (region is not None)
