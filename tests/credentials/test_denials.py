"""Refusals by IAM policies, which moto applies. (For Kinesis moto responds in XML; tests/spark/test_permissions.py has that.)"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import boto3  # type: ignore[import-untyped]
import pytest

from kinesis_credentials import AssumeRole, RoleRefusedError, StaticKeys, ensure_credentials, open_session

ROLE_ARN = "arn:aws:iam::123456789012:role/reader"


@pytest.fixture(scope="module")
def users(moto: str) -> Iterator[dict[str, StaticKeys]]:
    """Yield the keys of a user who may assume roles and of one who may not. moto checks permissions meanwhile."""
    root = {"aws_access_key_id": "root", "aws_secret_access_key": "root"}
    iam = boto3.client("iam", endpoint_url=moto, region_name="us-east-1", **root)
    keys = {}
    for name, allowed in (("reader", "sts:AssumeRole"), ("stranger", "sts:GetCallerIdentity")):
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=_allow(allowed))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        keys[name] = StaticKeys(key["AccessKeyId"], key["SecretAccessKey"])
    unchecked = _check_after(moto, "0")
    yield keys
    _check_after(moto, unchecked)


def _allow(action: str) -> str:
    statement: dict[str, Any] = {"Effect": "Allow", "Action": action, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _check_after(moto: str, calls: str) -> str:
    """Make moto check permissions after so many *calls*, and return the old number."""
    request = Request(f"{moto}/moto-api/reset-auth", calls.encode(), {"Content-Type": "text/plain"})  # noqa: S310 # on 127.0.0.1
    with urlopen(request) as response:  # noqa: S310
        return str(json.load(response)["PREVIOUS_INITIAL_NO_AUTH_ACTION_COUNT"])


def assume(keys: StaticKeys, moto: str) -> None:
    ensure_credentials(open_session(AssumeRole(keys, ROLE_ARN, "tests", sts_endpoint_url=moto), "us-east-1"))


def test_allowed(moto: str, users: dict[str, StaticKeys]) -> None:
    """A user with the permission assumes the role. moto verifies the signature."""
    assume(users["reader"], moto)


def test_denied(moto: str, users: dict[str, StaticKeys]) -> None:
    """The error of a user without the permission has the missing IAM action, the role, and AWS's text."""
    with pytest.raises(RoleRefusedError) as caught:
        assume(users["stranger"], moto)
    message = str(caught.value)
    assert "AccessDenied (status 403" in message
    assert "user/stranger is not authorized to perform: sts:AssumeRole" in message
    assert f"Allow the IAM action sts:AssumeRole on {ROLE_ARN}" in message


def test_wrong_secret(moto: str, users: dict[str, StaticKeys]) -> None:
    """A wrong signature is refused without showing the keys."""
    with pytest.raises(RoleRefusedError, match="SignatureDoesNotMatch") as caught:
        assume(StaticKeys(users["reader"].access_key_id, "another-secret"), moto)
    assert "another-secret" not in str(caught.value)
