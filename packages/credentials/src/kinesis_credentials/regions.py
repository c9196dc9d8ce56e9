"""Which region to sign for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from botocore.loaders import Loader

from kinesis_credentials.errors import RegionError
from kinesis_credentials.sessions import cached_session
from kinesis_credentials.specs import CredentialSpec

REGION_OF_CUSTOM_ENDPOINTS = "us-east-1"
"""What is signed for when an endpoint outside AWS is given and nothing names a region."""


def resolve_region(
    spec: CredentialSpec,
    *,
    region: str | None = None,
    arns: Sequence[str] = (),
    endpoint_url: str | None = None,
) -> str:
    """
    Return the region to work in; calls nothing over the network.

    In this order: *region*; the region in *arns*; the region in the host of *endpoint_url*, if that is AWS's;
    botocore's chain (AWS_DEFAULT_REGION, then the profile's `region`); AWS_REGION, which botocore does not
    read but every other SDK does; `us-east-1` when *endpoint_url* lies outside AWS, where any will do. The
    first three must agree as far as they are there.

    Raises:
        RegionError: Nothing names a region, or two of the first three contradict each other.
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that is not configured.
    """
    stated = _list_stated(region, arns, endpoint_url)
    if len({name for _, name in stated}) > 1:
        places = ", ".join(f"{place} says '{name}'" for place, name in stated)
        raise RegionError(f"The regions contradict each other: {places}. One source works in one region.")
    if stated:
        return stated[0][1]
    found = cached_session(spec).get_config_variable("region") or os.environ.get("AWS_REGION")
    if found:
        return str(found)
    if endpoint_url is not None and not _is_aws_host(_get_host(endpoint_url)):
        return REGION_OF_CUSTOM_ENDPOINTS
    raise RegionError(
        "No AWS region was found. Set the option 'region' (such as 'eu-west-1'), name the stream by its ARN, "
        "set AWS_DEFAULT_REGION, or give the profile a region."
    )


def _list_stated(region: str | None, arns: Iterable[str], endpoint_url: str | None) -> list[tuple[str, str]]:
    """Return (place, region) for everything that the caller said, without repeating an ARN's region."""
    stated = [] if region is None else [("the region option", region)]
    stated += [("a stream's ARN", name) for name in dict.fromkeys(_get_arn_region(arn) for arn in arns)]
    at_endpoint = None if endpoint_url is None else find_endpoint_region(endpoint_url)
    if at_endpoint is not None:
        stated.append(("the endpoint", at_endpoint))
    return stated


def _get_arn_region(arn: str) -> str:
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn" or not parts[3]:
        raise RegionError(f"'{arn}' is not the ARN of something in a region.")
    return parts[3]


def find_endpoint_region(endpoint_url: str) -> str | None:
    """Return the region in the host of an AWS endpoint, else None."""
    host = _get_host(endpoint_url)
    for suffix, pattern in _load_partitions():
        if host.endswith(suffix):
            for label in reversed(host.removesuffix(suffix).split(".")):
                if pattern.fullmatch(label):
                    return label
    return None


def _get_host(endpoint_url: str) -> str:
    return (urlsplit(endpoint_url).hostname or "").rstrip(".")


def _is_aws_host(host: str) -> bool:
    return any(host.endswith(suffix) for suffix, _ in _load_partitions())


@lru_cache(maxsize=1)
def _load_partitions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each DNS suffix of AWS with the pattern of the regions under it, from botocore's own data."""
    data: dict[str, Any] = Loader().load_data("partitions")
    return tuple(
        (f".{partition['outputs'][kind]}", re.compile(partition["regionRegex"]))
        for partition in data["partitions"]
        for kind in ("dnsSuffix", "dualStackDnsSuffix")
        if partition["outputs"].get(kind)
    )
