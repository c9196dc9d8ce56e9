"""Requests that are signed without botocore, compared with those that botocore signed."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import botocore
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.session import Session

from kinesis_core.aws.fast.signing import RequestTemplate, find_template
from support.canned import Canned, header

SESSION = Session()
TIME = "%Y%m%dT%H%M%SZ"
BODY = b'{"ShardIterator":"next"}'
PLAIN = ReadOnlyCredentials("AKIAEXAMPLE", "do-not-tell", None)
KEYS = [PLAIN, ReadOnlyCredentials("ASIAEXAMPLE", "do-not-tell", "neither-this")]
ENDPOINTS = [
    None,
    "http://127.0.0.1:4567",
    "http://localhost:80",
    "https://kinesis.example.com:443/",
    "https://kinesis.example.com:8443/behind/a/path",
    "https://[::1]:4567",
]
every_key = pytest.mark.parametrize("keys", KEYS, ids=["keys", "with token"])


def sent_by_botocore(
    keys: ReadOnlyCredentials, endpoint_url: str | None = None, config: Config | None = None
) -> AWSPreparedRequest:
    """Return the request that a client sends for a call."""
    client: Any = SESSION.create_client(
        "kinesis",
        region_name="eu-west-1",
        endpoint_url=endpoint_url,
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
        aws_session_token=keys.token,
        config=config,
    )
    canned = Canned()
    canned.serve(client)
    canned.response({"Records": [], "MillisBehindLatest": 0})
    client.get_records(ShardIterator="first")
    return canned.requests[0]


def signing_time(request: AWSPreparedRequest) -> datetime:
    return datetime.strptime(header(request, "X-Amz-Date"), TIME).replace(tzinfo=timezone.utc)


def template_of(request: AWSPreparedRequest, keys: ReadOnlyCredentials) -> RequestTemplate:
    template = find_template(request, keys)
    assert template is not None
    return template


def wire(request: AWSPreparedRequest) -> tuple[object, ...]:
    """Return what is sent, except the id by which AWS recognizes the attempts of one call."""
    headers = {name: header(request, name) for name in request.headers if name != "amz-sdk-invocation-id"}
    return request.method, request.url, headers, request.body


@every_key
@pytest.mark.parametrize("endpoint_url", ENDPOINTS)
def test_the_same_request_is_made_byte_for_byte(keys: ReadOnlyCredentials, endpoint_url: str | None) -> None:
    """With the same body at the same time a request equals botocore's at every endpoint, except its id."""
    request = sent_by_botocore(keys, endpoint_url)
    assert isinstance(request.body, bytes)
    again = template_of(request, keys).make(request.body, signing_time(request))
    assert wire(again) == wire(request)
    assert header(again, "amz-sdk-invocation-id") != header(request, "amz-sdk-invocation-id")
    assert UUID(header(again, "amz-sdk-invocation-id")).version == 4


@every_key
def test_another_body_is_signed_as_botocore_would(keys: ReadOnlyCredentials) -> None:
    """The signature covers the body and the time. One template serves any day, later or earlier."""
    template = template_of(sent_by_botocore(keys, "http://127.0.0.1:4567"), keys)
    for now in ("20261121T235959Z", "20261122T000000Z", "20270101T120000Z", "20261121T235959Z"):
        check_signature(template, keys, now)


def check_signature(template: RequestTemplate, keys: ReadOnlyCredentials, now: str) -> None:
    made = template.make(BODY, datetime.strptime(now, TIME))
    unsigned = AWSRequest("POST", made.url, data=BODY)
    for name in header(made, "Authorization").partition("SignedHeaders=")[2].split(",")[0].split(";"):
        if name != "host":
            unsigned.headers[name] = next(header(made, n) for n in made.headers if n.lower() == name)
    unsigned.context["timestamp"] = now
    given = Credentials(str(keys.access_key), str(keys.secret_key), keys.token)
    signer = SigV4Auth(given, "kinesis", "eu-west-1")
    to_sign = signer.string_to_sign(unsigned, signer.canonical_request(unsigned))
    assert header(made, "Authorization").endswith(f"Signature={signer.signature(to_sign, unsigned)}")
    assert f"Credential={keys.access_key}/{now[:8]}/eu-west-1/kinesis/aws4_request" in header(
        made, "Authorization"
    )
    assert header(made, "Content-Length") == str(len(BODY))


def test_other_keys_than_those_it_was_signed_with_make_no_template() -> None:
    """Keys that changed during a call are not taken for those of its request."""
    for keys in (ReadOnlyCredentials("AKIAEXAMPLE", "other", None), ReadOnlyCredentials("B", "c", "d")):
        assert find_template(sent_by_botocore(PLAIN), keys) is None


def test_a_token_that_is_not_in_the_request_makes_no_template() -> None:
    """Keys with another session token are other keys: the token is signed as a header."""
    request = sent_by_botocore(KEYS[1])
    assert find_template(request, KEYS[1]) is not None
    request.headers["X-Amz-Security-Token"] = "other"
    assert find_template(request, KEYS[1]) is None


def test_requests_without_a_signature_make_no_template() -> None:
    """If botocore is configured not to sign, nothing is signed."""
    config = Config(signature_version=botocore.UNSIGNED)
    assert find_template(sent_by_botocore(PLAIN, config=config), PLAIN) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", "AWS4-ECDSA-P256-SHA256 Credential=A/20261121/kinesis/aws4_request, S=a, T=b"),
        ("Authorization", "Bearer abc"),
        ("X-Amz-Date", "Sat, 21 Nov 2026 01:13:43 GMT"),
        ("X-Amz-Target", "Kinesis_20131202.PutRecords"),
        ("Content-Encoding", "gzip"),
        ("User-Agent", "caffè"),
    ],
)
def test_an_unknown_kind_of_request_makes_no_template(name: str, value: str) -> None:
    """A request that is signed in another way, or changed after signing, is no template."""
    request = sent_by_botocore(PLAIN)
    request.headers[name] = value
    if name == "Content-Encoding":  # a header listed as signed, but added after signing
        signed = header(request, "Authorization").replace("SignedHeaders=", "SignedHeaders=content-encoding;")
        request.headers["Authorization"] = signed
    assert find_template(request, PLAIN) is None


@pytest.mark.parametrize(("name", "value"), [("Host", "127.0.0.1:4567"), ("accept-encoding", "gzip")])
def test_headers_that_the_sender_sets_make_no_template(name: str, value: str) -> None:
    """The transport sets these headers itself. If a user's hook set them, they would be sent twice."""
    request = sent_by_botocore(PLAIN)
    request.headers[name] = value
    assert find_template(request, PLAIN) is None


def test_a_template_shows_no_secret() -> None:
    """The `repr` of a template has neither the secret key nor the token."""
    shown = repr(template_of(sent_by_botocore(KEYS[1]), KEYS[1]))
    assert "do-not-tell" not in shown
    assert "neither-this" not in shown


def test_the_host_of_awscrt_is_not_a_users_header() -> None:
    """With awscrt installed, botocore leaves the host among the headers. The transport adds it, so the template omits it."""
    request = sent_by_botocore(PLAIN, "http://127.0.0.1:4567")
    request.headers["host"] = "127.0.0.1:4567"
    made = template_of(request, PLAIN).make(BODY, signing_time(request))
    assert "host" not in {name.lower() for name in made.headers}
