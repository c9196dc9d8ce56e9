"""Roles: the requests to STS, the renewals, and the errors when STS refuses."""

from __future__ import annotations

import logging
import traceback
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from attrs import define, evolve
from botocore.client import BaseClient
from botocore.exceptions import HTTPClientError
from botocore.session import Session

from kinesis_credentials import (
    AssumeRole,
    CredentialsError,
    DefaultChain,
    NoCredentialsError,
    RoleRefusedError,
    SourceFailedError,
    SourceUnavailableError,
    StaticKeys,
    ensure_credentials,
    get_credentials,
    open_session,
)
from support.key_services import Asked, KeyServices

BASE = StaticKeys("AKIABASE", "base-secret")
READER = "arn:aws:iam::210987654321:role/reader"
ROLE = AssumeRole(BASE, READER, "tests")
EXPIRES = (
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><SecretAccessKey>do-not-tell</SecretAccessKey>"
    "<Expiration>{}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
)


@define
class Clock:
    """A clock that the test sets."""

    time: datetime = datetime(2026, 1, 31, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        return self.time

    def advance(self, **by: float) -> None:
        self.time += timedelta(**by)


def number(asked: Asked) -> str:
    return f"ASIA{asked.number}"


def key_of(session: Session) -> str:
    return str(get_credentials(session).get_frozen_credentials().access_key)


def at(url: str, **more: Any) -> AssumeRole:
    """Return a role that STS at *url* gives."""
    return evolve(ROLE, sts_endpoint_url=url, **more)


def test_role(moto: str) -> None:
    """The session acts as the role, in the role's account: moto's STS confirms it."""
    session = open_session(at(moto), "eu-west-1")
    sts: Any = session.create_client("sts", endpoint_url=moto)
    identity = sts.get_caller_identity()
    assert identity["Account"] == "210987654321"
    assert identity["Arn"] == "arn:aws:sts::210987654321:assumed-role/reader/tests"


def test_request(services: KeyServices) -> None:
    """The base credentials call STS in the session's region, with role, session name and external id."""
    services.external_id = "agreed:on"
    ensure_credentials(open_session(at(services.url, external_id="agreed:on"), "eu-west-1"))
    [asked] = services.asked
    assert (asked.action, asked.access_key, asked.region) == ("AssumeRole", "AKIABASE", "eu-west-1")
    asked.params.pop("Version")
    assert asked.params == {"RoleArn": READER, "RoleSessionName": "tests", "ExternalId": "agreed:on"}


def test_role_on_a_role(services: KeyServices) -> None:
    """A role may be assumed with another role, which is assumed first."""
    writer = AssumeRole(
        at(services.url), "arn:aws:iam::111111111111:role/writer", "tests", None, services.url
    )
    session = open_session(writer, "eu-west-1")
    assert key_of(session) == "111111111111"
    assert [asked.access_key for asked in services.asked] == ["AKIABASE", "210987654321"]
    tried = [attempt.source for attempt in get_credentials(session).attempts]
    assert tried == ["keys", READER, writer.role_arn]


def test_days(services: KeyServices) -> None:
    """A query that runs for days never signs with expired keys, and renews them no more often than needed."""
    clock = Clock()
    services.now, services.name_key = clock, number
    session = open_session(at(services.url), "eu-west-1", now=clock)
    ends: dict[str, datetime] = {}
    for _ in range(3 * 24 * 60):
        key = key_of(session)
        ends.setdefault(key, clock.time + timedelta(hours=1))
        assert clock.time < ends[key]
        clock.advance(minutes=1)
    assert len(services.asked) == 3 * 24 * 60 // 45


def test_sts_is_down_for_a_while(services: KeyServices, caplog: pytest.LogCaptureFixture) -> None:
    """Valid keys stay in use while STS refuses, with a warning. STS is called once a minute."""
    clock = Clock()
    services.now, services.name_key = clock, number
    session = open_session(at(services.url), "eu-west-1", now=clock)
    ensure_credentials(session)
    services.refusal = "AccessDenied"
    clock.advance(minutes=46)
    with caplog.at_level(logging.WARNING, "kinesis_credentials"):
        assert [key_of(session) for _ in range(3)] == ["ASIA1"] * 3
    assert len(services.asked) == 2
    [message] = caplog.messages
    assert message.startswith(
        f"credentials.kept source={READER} reason=STS AssumeRole for {READER} failed: AccessDenied "
    )
    services.refusal = None
    clock.advance(minutes=1)
    assert key_of(session) == "ASIA3"


def test_sts_is_down_for_too_long(services: KeyServices) -> None:
    """Keys are not used in their last minute: then the refusal is the error."""
    clock = Clock()
    services.now = clock
    session = open_session(at(services.url), "eu-west-1", now=clock)
    ensure_credentials(session)
    services.refusal = "AccessDenied"
    clock.advance(minutes=59, seconds=30)
    with pytest.raises(RoleRefusedError):
        key_of(session)


def test_clock_that_is_wrong(services: KeyServices) -> None:
    """Keys that have expired when they arrive mean that this machine's clock is wrong."""
    services.life_s = -60
    with pytest.raises(SourceFailedError, match="Set this machine's clock"):
        ensure_credentials(open_session(at(services.url), "eu-west-1"))


def test_other_keys_on_demand(services: KeyServices) -> None:
    """When AWS revokes keys, they are renewed once for all their users."""
    services.name_key = number
    session = open_session(at(services.url), "eu-west-1")
    credentials = get_credentials(session)
    assert key_of(session) == "ASIA1"
    version = credentials.version
    assert credentials.renew(version)
    assert credentials.renew(version)
    assert key_of(session) == "ASIA2"
    assert len(services.asked) == 2


@pytest.mark.parametrize(
    ("external_id", "advice"),
    [(None, "let the role's trust policy name them."), ("wr0ng:id", "name them with this external id.")],
)
def test_refused(services: KeyServices, external_id: str | None, advice: str) -> None:
    """A refusal names role, IAM action, AWS's code, request id and base credentials, and never the external id."""
    services.external_id = "right"
    with pytest.raises(RoleRefusedError) as caught:
        ensure_credentials(open_session(at(services.url, external_id=external_id), "eu-west-1"))
    message = str(caught.value)
    assert "AccessDenied (status 403, request id request-1)" in message
    assert f"Allow the IAM action sts:AssumeRole on {READER}" in message
    assert advice in message
    assert "[tried=keys: given by the user]" in message
    assert "wr0ng" not in message
    assert not caught.value.retryable


def test_nothing_to_assume_it_with() -> None:
    """When the base has no credentials, the error names the role and the sources tried."""
    with pytest.raises(NoCredentialsError) as caught:
        ensure_credentials(open_session(evolve(ROLE, base=DefaultChain()), "eu-west-1"))
    assert str(caught.value).startswith(f"No AWS credentials were found to assume {READER} with.")
    assert "env: AWS_ACCESS_KEY_ID is not set" in str(caught.value)


@pytest.mark.parametrize(
    "body", ["", "<html>", "<html/>", "{}", EXPIRES.format("1e300"), EXPIRES.format("soon")]
)
def test_malformed_responses(services: KeyServices, body: str) -> None:
    """A proxy may have responded instead of STS. The error is temporary, and shows nothing of the response."""
    services.body = body
    with pytest.raises(
        SourceUnavailableError, match=f"STS AssumeRole for {READER} gave a malformed"
    ) as caught:
        ensure_credentials(open_session(at(services.url), "eu-west-1"))
    assert caught.value.code == "MalformedResponse"
    assert "Is sts_endpoint_url the endpoint of STS?" in str(caught.value)
    assert "do-not-tell" not in "".join(traceback.format_exception(caught.value))


def test_no_sts_there() -> None:
    """When STS does not respond, the error is temporary: a running query retries."""
    with pytest.raises(SourceUnavailableError, match=f"STS could not be asked to let {READER} be assumed"):
        ensure_credentials(open_session(at("http://127.0.0.1:9"), "eu-west-1"))


def test_a_token_that_cannot_be_sent_is_in_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token of the base credentials is a header of the request to STS, which http.client quotes in its error."""

    def fail(*_: object, **__: object) -> None:
        raise HTTPClientError(error=ValueError("Invalid header value b'do-not-tell'"))

    monkeypatch.setattr(BaseClient, "_make_request", fail)
    with pytest.raises(CredentialsError, match="could not be asked") as caught:
        ensure_credentials(open_session(at("http://127.0.0.1:9"), "eu-west-1"))
    assert "do-not-tell" not in "".join(traceback.format_exception(caught.value))
