"""Finds the region to sign requests for."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kinesis_credentials.advice import Advice
from kinesis_credentials.endpoints import find_endpoint_region, is_aws_endpoint
from kinesis_credentials.errors import RegionError
from kinesis_credentials.specs import CredentialSpec

REGION_OF_CUSTOM_ENDPOINTS = "us-east-1"
"""The region to sign for when the endpoint is outside AWS and no region is configured."""


def resolve_region(
    spec: CredentialSpec,
    *,
    region: str | None = None,
    arns: Sequence[str] = (),
    endpoint_url: str | None = None,
) -> str:
    """
    Return the region to work in. It makes no network call.

    The first of these that exists is used:

    * *region*
    * the region in the first of *arns*
    * the region in the host of *endpoint_url*, if that is an AWS endpoint
    * botocore's chain: AWS_DEFAULT_REGION, then the profile's `region`
    * AWS_REGION, which botocore does not read but every other SDK does
    * `us-east-1` if *endpoint_url* is outside AWS, where any region works

    The first three must agree: *arns* may be in several regions, *region* must be one of them, and an AWS endpoint
    serves one region only.

    Raises:
        RegionError: No region is found, or two of the first three contradict each other.
        ProfileNotFoundError: The spec, or AWS_PROFILE, names a profile that the AWS configuration does not have.
    """
    in_arns = tuple(dict.fromkeys(find_arn_region(arn) for arn in arns))
    at_endpoint = None if endpoint_url is None else find_endpoint_region(endpoint_url)
    _check_agreement(region, in_arns, at_endpoint)
    stated = region or next(iter(in_arns), None) or at_endpoint
    if stated:
        return stated
    from kinesis_credentials.sessions import cached_session  # botocore: most queries name the region

    found = cached_session(spec).get_config_variable("region") or os.environ.get("AWS_REGION")
    if found:
        return str(found)
    if endpoint_url is not None and not is_aws_endpoint(endpoint_url):
        return REGION_OF_CUSTOM_ENDPOINTS
    raise RegionError("No AWS region was found.", advice=Advice.GIVE_REGION)


def find_arn_region(arn: str) -> str:
    """
    Return the region in *arn*.

    Raises:
        RegionError: It is not the ARN of a resource in a region.
    """
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn" or not parts[3]:
        raise RegionError(
            f"'{arn}' is not the ARN of a resource in a region. Copy the stream's ARN from AWS."
        )
    return parts[3]


def _check_agreement(region: str | None, in_arns: tuple[str, ...], at_endpoint: str | None) -> None:
    stated = [] if region is None else [("the region given", region)]
    stated += [("a stream's ARN", name) for name in in_arns]
    if at_endpoint is not None:
        stated.append(("the endpoint", at_endpoint))
    contradicts_arns = region is not None and bool(in_arns) and region not in in_arns
    contradicts_endpoint = at_endpoint is not None and any(name != at_endpoint for _, name in stated)
    if contradicts_arns or contradicts_endpoint:
        regions = ", ".join(f"'{name}' ({source})" for source, name in stated)
        remedy = "An endpoint of AWS serves one region" if contradicts_endpoint else "Leave the region out"
        raise RegionError(f"The regions contradict each other: {regions}. {remedy}.")
