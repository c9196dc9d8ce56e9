"""The sources of a machine: instance metadata, container endpoint, web identity; and the user's provider class."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import pytest
from botocore.exceptions import HTTPClientError
from botocore.utils import InstanceMetadataFetcher

from kinesis_credentials import (
    AssumeRole,
    CredentialsError,
    CredentialSpec,
    DefaultChain,
    InstanceProfile,
    Profile,
    ProviderClass,
    ProviderClassError,
    SourceFailedError,
    SourceUnavailableError,
    ensure_credentials,
    get_credentials,
    open_session,
)
from support.key_services import SECRET, TOKEN, KeyServices

ROLE_ARN = "arn:aws:iam::210987654321:role/reader"


def keys_of(spec: CredentialSpec) -> tuple[str | None, ...]:
    frozen = get_credentials(open_session(spec, "eu-west-1")).get_frozen_credentials()
    return frozen.access_key, frozen.secret_key, frozen.token


def failure_of(spec: CredentialSpec) -> CredentialsError:
    with pytest.raises(CredentialsError) as caught:
        ensure_credentials(open_session(spec, "eu-west-1"))
    return caught.value


# Instance profile


@pytest.fixture
def on_an_instance(moto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", moto)


@pytest.mark.usefixtures("on_an_instance")
@pytest.mark.parametrize("spec", [InstanceProfile(), DefaultChain()])
def test_instance_profile(spec: CredentialSpec) -> None:
    """The instance's role is used when the spec names it, and at the end of botocore's chain."""
    assert keys_of(spec) == ("test-key", "test-secret-key", "test-session-token")


@pytest.mark.usefixtures("on_an_instance")
def test_instance_profile_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by itself, the instance's role has precedence over the keys of the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    assert keys_of(InstanceProfile())[0] == "test-key"
    assert keys_of(DefaultChain())[0] == "other"


def test_a_metadata_token_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may end the token with a newline. http.client then quotes it in its error; ours does not."""

    def fail(_: object) -> None:
        raise HTTPClientError(error=ValueError("Invalid header value b'do-not-tell\\n'"))

    monkeypatch.setattr(InstanceMetadataFetcher, "retrieve_iam_role_credentials", fail)
    error = failure_of(InstanceProfile())
    assert "[tried=iam-role: An HTTP client raised ValueError]" in str(error)
    assert "do-not-tell" not in "".join(traceback.format_exception(error))


def test_no_instance() -> None:
    """Without a metadata service no other source is tried. The error says what to check."""
    error = failure_of(InstanceProfile())
    assert isinstance(error, SourceUnavailableError)
    assert "a hop limit of 2" in str(error)
    assert "[tried=iam-role: AWS_EC2_METADATA_DISABLED is true]" in str(error)


# Container


def test_container(services: KeyServices, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's endpoint is called with the container's token."""
    services.name_key = lambda _: "ASIACONTAINER"
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{services.url}/role")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "of-the-container")
    assert keys_of(DefaultChain()) == ("ASIACONTAINER", SECRET, f"{TOKEN}1")
    [asked] = services.asked
    assert (asked.action, asked.authorization) == ("/role", "of-the-container")


# Web identity


@pytest.fixture
def in_a_pod(services: KeyServices, monkeypatch: pytest.MonkeyPatch, aws_home: Path) -> None:
    token = aws_home / "token"
    token.write_text("of-the-pod")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE_ARN)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", services.url)


@pytest.mark.usefixtures("in_a_pod")
def test_web_identity(services: KeyServices) -> None:
    """A pod gets its role for its token, without keys of its own."""
    assert keys_of(DefaultChain()) == ("210987654321", SECRET, f"{TOKEN}1")
    [asked] = services.asked
    assert (asked.action, asked.access_key) == ("AssumeRoleWithWebIdentity", "")
    assert asked.params["WebIdentityToken"] == "of-the-pod"


@pytest.mark.usefixtures("in_a_pod")
def test_role_on_a_web_identity(services: KeyServices) -> None:
    """A pod's role may assume another role."""
    writer = "arn:aws:iam::111111111111:role/writer"
    assert keys_of(AssumeRole(DefaultChain(), writer, "tests"))[0] == "111111111111"
    assert [asked.access_key for asked in services.asked] == ["", "210987654321"]


@pytest.mark.usefixtures("in_a_pod")
def test_web_identity_refused(services: KeyServices) -> None:
    """A refusal is the error, with the action that the trust policy must allow. No other source is tried."""
    services.refusal = "AccessDenied"
    error = failure_of(DefaultChain())
    assert type(error) is SourceFailedError
    assert "trust policy must allow the IAM action sts:AssumeRoleWithWebIdentity" in str(error)
    assert "of-the-pod" not in str(error)


# Profile


def test_role_of_a_profile(services: KeyServices, monkeypatch: pytest.MonkeyPatch, aws_home: Path) -> None:
    """A profile may name a role and the profile to assume it with, as for the AWS command line."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", services.url)
    (aws_home / "config").write_text(
        f"[profile team]\nrole_arn={ROLE_ARN}\nsource_profile=base\n"
        "[profile base]\naws_access_key_id=AKIABASE\naws_secret_access_key=secret\n"
    )
    assert keys_of(Profile("team"))[0] == "210987654321"
    assert services.asked[0].access_key == "AKIABASE"


@pytest.mark.parametrize("body", ["<Secret>do-not-tell", "<html/>"])
def test_role_of_a_profile_from_a_malformed_response(
    services: KeyServices, monkeypatch: pytest.MonkeyPatch, aws_home: Path, body: str
) -> None:
    """The error names the source. It shows nothing of the response, which may hold keys."""
    services.body = body
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", services.url)
    (aws_home / "config").write_text(
        f"[profile team]\nrole_arn={ROLE_ARN}\nsource_profile=base\n"
        "[profile base]\naws_access_key_id=AKIABASE\naws_secret_access_key=secret\n"
    )
    error = failure_of(Profile("team"))
    assert isinstance(error, SourceFailedError)
    assert "could not be obtained from assume-role: " in str(error)
    assert "do-not-tell" not in "".join(traceback.format_exception(error))


# Provider class


HERE = "support.scripted_provider"


@pytest.mark.parametrize(
    ("how", "keys"),
    [
        (None, ("key", "secret", None)),
        ("token", ("key", "secret", "token")),
        ("botocore", ("key", "secret", "token")),
    ],
)
def test_class(how: str | None, keys: tuple[str, str, str | None]) -> None:
    """A class returns a mapping or credentials of botocore. It is created with its parameter, if there is one."""
    assert keys_of(ProviderClass(f"{HERE}.Scripted", how)) == keys


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("Scripted", "half", "returned a mapping in which 'SecretAccessKey' is missing. It must be a class"),
        ("Scripted", "no-zone", "'Expiration' is not a time with Z or an offset"),
        ("Scripted", "p4ssw0rd", "failed: RuntimeError: cannot open [*]{4}"),
        ("Faceless", None, "has no method get_credentials()"),
        ("number", None, "is not a class"),
        ("Missing", None, "cannot be imported: AttributeError"),
    ],
)
def test_class_that_breaks_its_contract(name: str, how: str | None, said: str) -> None:
    """The error has the fault and the contract of the class, without the class's parameter."""
    error = failure_of(ProviderClass(f"{HERE}.{name}", how))
    assert isinstance(error, ProviderClassError)
    assert not error.retryable
    assert re.search(said, str(error))


def test_class_that_cannot_for_now() -> None:
    """A connection error of a class is temporary: a running query retries."""
    assert failure_of(ProviderClass(f"{HERE}.Scripted", "offline")).retryable


def test_class_with_keys_that_are_over() -> None:
    """Expired keys of a class are an error that says so, with both times in UTC."""
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    said = str(failure_of(ProviderClass(f"{HERE}.Scripted", "over")))
    assert re.search(rf"expired at {time}; this machine's time is {time}\.", said)
