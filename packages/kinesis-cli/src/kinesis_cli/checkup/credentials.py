"""Which credentials are used, from where, and whose they are. Secrets are never shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinesis_cli.checkup.findings import Finding, failed, ok, unchecked
from kinesis_core.aws import CALL_ERRORS, Connection, make_client
from kinesis_credentials import (
    CredentialsError,
    CredentialSpec,
    cached_session,
    ensure_credentials,
    get_credentials,
    safe_message,
)
from kinesis_credentials.endpoints import is_aws_endpoint
from kinesis_credentials.failures import MALFORMED

_SOURCES = {
    "env": "environment variables",
    "shared-credentials-file": "shared credentials file",
    "config-file": "AWS configuration file",
    "custom-process": "credential_process of the profile",
    "assume-role": "role of the profile",
    "assume-role-with-web-identity": "web identity token",
    "sso": "IAM Identity Center (SSO)",
    "login": "aws login",
    "container-role": "role of the container",
    "iam-role": "role of the machine",
}
"""The names of botocore's sources in words."""
_SHOWN, _LONG = 4, 16
_TIMEOUT_S = 5.0

MakeClient = Callable[..., Any]


def mask(key_id: str) -> str:
    """Return a key id without most of its characters. A short text is not a key id of AWS, and is not shown."""
    return f"****{key_id[-_SHOWN:]}" if len(key_id) >= _LONG else "****"


def describe_source(method: str) -> str:
    """Return botocore's name of a source in words."""
    return _SOURCES.get(method, method)


def check_credentials(spec: CredentialSpec, region: str | None) -> Finding:
    """Find credentials. The error of a failure has all sources that were tried."""
    try:
        session = cached_session(spec, region)
        ensure_credentials(session)
        credentials = get_credentials(session)
        frozen = credentials.get_frozen_credentials()
    except CredentialsError as error:
        return failed("credentials", error)
    kind = "temporary key" if frozen.token else "key"
    return ok(
        "credentials", f"{kind} {mask(frozen.access_key or '')} from: {describe_source(credentials.method)}"
    )


def check_identity(connection: Connection, is_aws: bool, client_of: MakeClient = make_client) -> Finding:
    """Ask STS whose credentials they are. Where Kinesis is a local server, AWS's STS does not know them."""
    try:
        client = client_of(connection, "sts", read_timeout_s=_TIMEOUT_S)
        if not is_aws and is_aws_endpoint(client.meta.endpoint_url):
            return unchecked("identity", "the endpoint is not AWS")
        found = client.get_caller_identity()
        return ok("identity", f"{found['Arn']}, account {found['Account']}")
    except CALL_ERRORS as error:
        return failed("identity", f"STS GetCallerIdentity failed: {safe_message(error)}")
    except MALFORMED:  # its text may be the whole response
        return failed(
            "identity",
            f"{client.meta.endpoint_url} gave a malformed response to GetCallerIdentity. Is it an endpoint of STS?",
        )
