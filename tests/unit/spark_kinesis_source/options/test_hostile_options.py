"""Any options are accepted, or refused by an OptionError before any call."""

from __future__ import annotations

import json
import pickle
import re
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from attrs import asdict
from botocore.utils import is_valid_endpoint_url, is_valid_ipv6_endpoint_url, validate_region_name
from hypothesis import given, strategies as st

from kinesis_core.errors import OptionError
from kinesis_core.options import BadValueError, OptionTable, aliases_of, url
from kinesis_core.options.parsers import region
from spark_kinesis_sink.options import SINK_OPTIONS, SinkOptions
from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
from support.hostile import odd_texts
from support.other_connectors import SINKS, SOURCES

SECRET = "do-not-show"


def names_of(table: OptionTable) -> list[str]:
    named = [option.name for option in table.options]
    named += [alias.name for option in table.options for alias in aliases_of(option)]
    named += [name for unsupported in table.unsupported for name in unsupported.names]
    named += [name for ignored_options in table.ignored_options for name in ignored_options.names]
    return named + list(table.let_through)


Parse = Callable[[dict[str, object]], Any]
HALVES: dict[str, tuple[OptionTable, Parse, list[dict[str, str]]]] = {
    "source": (SOURCE_OPTIONS, SourceOptions.parse, list(SOURCES.values())),
    "sink": (SINK_OPTIONS, SinkOptions.parse, list(SINKS.values())),
}


SECRETS = {
    "awsAccessKeyId",
    "awsSecretKey",
    "sessionToken",
    "credentialProviderParam",
    "stsExternalId",
    "proxyUrl",
    "proxyUsername",
    "proxyPassword",
}
secrets = st.dictionaries(
    st.sampled_from(
        [*sorted(SECRETS), "kinesis.awsSecretKey", "awsAccessKey", "roleExternalId", "awsSecretKeyy"]
    ),
    st.sampled_from([SECRET, f"{SECRET}-2", f"{SECRET} damaged", f"http://clerk:{SECRET}@127.0.0.1:3128"]),
    max_size=5,
)
BESIDE: list[dict[str, Any]] = [
    {},
    {"awsProfile": "team"},
    {"credentialProviderClass": "company.aws.Vault"},
    {"credentialProviderClass": "no path"},
    {"stsRoleArn": "arn:aws:iam::123456789012:role/r"},
    {"stsRoleArn": "arn:aws:iam::123456789012:role/r", "stsSessionName": "s"},
    {"awsAccessKeyId": SECRET, "awsSecretKey": f"{SECRET} damaged"},
    {"proxyAddress": "127.0.0.1"},
    {"proxyAddress": "127.0.0.1", "proxyUrl": f"http://clerk:{SECRET}@127.0.0.1:3128"},
    {"region": None, "endpointUrl": "https://kinesis.amazonaws.com"},
]
"""What secrets belong to, or contradict."""


def shown_by(parse: Parse, given: Mapping[str, object]) -> str:
    """Return all that a user may see of these options: a repr, lines of the log, or an error with its traceback."""
    try:
        options = parse(dict(given))
    except OptionError as error:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        without_code = re.sub("^ +.*$", "", "".join(traceback.format_exception(error)), flags=re.MULTILINE)
        return f"{error!r} {copy!r} {without_code}"
    copy = pickle.loads(pickle.dumps(options))  # noqa: S301 - our own bytes
    return f"{options!r} {copy} {options.ignored} {asdict(options, recurse=False)}"


@pytest.mark.parametrize("half", HALVES)
def test_secrets(half: str) -> None:
    """These options are secrets, and no others."""
    assert {option.name for option in HALVES[half][0].options if option.is_secret} == SECRETS


@pytest.mark.parametrize("half", HALVES)
def test_descriptions(half: str) -> None:
    """A description has values, not the names that Python gives them. Only code has braces."""
    for option in HALVES[half][0].options:
        assert "{" not in re.sub("`[^`]+`", "", f"{option.meaning} {option.default_text}")


@pytest.mark.parametrize("half", HALVES)
@given(st.data())
def test_options_are_good_or_refused(half: str, data: st.DataObject) -> None:
    """Any names with any values give options or an OptionError. Neither shows a secret."""
    table, parse, jobs = HALVES[half]
    names = st.sampled_from(names_of(table)) | st.text(max_size=20)
    given = dict(data.draw(st.sampled_from([{"streamName": "orders", "region": "eu-west-1"}, *jobs])))
    given |= data.draw(st.dictionaries(names, odd_texts, max_size=3))
    assert SECRET not in shown_by(parse, {**given, **data.draw(secrets)})


@pytest.mark.parametrize("half", HALVES)
@given(st.sampled_from(BESIDE), secrets)
def test_secrets_are_not_shown(half: str, beside: dict[str, Any], given: dict[str, str]) -> None:
    """Neither a refusal, with its traceback, nor accepted options show a secret."""
    stream = {"streamName": "orders", "region": "eu-west-1"}
    assert SECRET not in shown_by(HALVES[half][1], {**stream, **given, **beside})


LONG = "x" * 100_000
HUGE = [
    LONG,
    json.dumps({LONG: "LATEST"}),
    json.dumps({"shardId-000000000000": "LATEST", f"{LONG}/": "LATEST"}),
    json.dumps({"at_timestamp": "2026", "format": LONG}),
    json.dumps({"at_timestamp": "2026", "format": f"'{LONG}'"}),
    json.dumps({"metadata": {}, LONG: {"iteratorType": LONG}}),
    json.dumps({"shardId": LONG, "iteratorType": "LATEST", "iteratorPosition": LONG}),
]


def error_of(parse: Parse, given: dict[str, object]) -> str:
    try:
        parse(given)
    except OptionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("text", HUGE, ids=range(len(HUGE)))
@pytest.mark.parametrize("half", HALVES)
def test_huge_values(half: str, text: str) -> None:
    """An error shows only the start of a huge value."""
    table, parse, _ = HALVES[half]
    consumer = {"consumerType": "efo", "registeredConsumerIdType": "ARN"} if half == "source" else {}
    for option in table.options:
        for name in (option.name, *(alias.name for alias in aliases_of(option))):
            given: dict[str, object] = {"streamName": "orders", "region": "eu-west-1", **consumer, name: text}
            assert len(error_of(parse, given)) < 2000


def addresses_of(table: OptionTable) -> list[str]:
    """Return the names of all options that take a URL or a host."""
    named = [(option.name, option.parser) for option in table.options]
    named += [
        (alias.name, alias.parser) for option in table.options for alias in aliases_of(option) if alias.parser
    ]
    return [name for name, parser in named if re.search("URL|host", parser.domain)]


@pytest.mark.parametrize(
    ("half", "name"), [(half, name) for half in HALVES for name in addresses_of(HALVES[half][0])]
)
@given(
    st.sampled_from(
        ["{}@", "clerk:{}@", "http://{}@", "https://clerk:{}@", "http://host/?token={}", "http://host#{}"]
    ),
    odd_texts,
)
def test_logins_in_addresses(half: str, name: str, start: str, rest: str) -> None:
    """An address with a login or a token is accepted by proxyUrl, or refused without being shown."""
    _, parse, _ = HALVES[half]
    given = {"streamName": "orders", "region": "eu-west-1", name: start.format(SECRET) + rest}
    assert SECRET not in shown_by(parse, given)


addresses = st.builds(
    "{}://{}".format,
    st.sampled_from(["http", "https", "ftp", ""]),
    odd_texts
    | st.from_regex(r"\A[a-zA-Z0-9_.:%\[\]-]{1,20}\Z")
    | st.sampled_from(["a" * 64, "a." * 127 + "a", "[::1]:80"]),
)


@given(addresses)
def test_botocore_accepts_every_accepted_address(text: str) -> None:
    """botocore accepts every URL that `endpointUrl` accepts, so that creating a client cannot fail."""
    with suppress(BadValueError):
        accepted = url().parse(text)
        assert is_valid_endpoint_url(accepted) or is_valid_ipv6_endpoint_url(accepted)


@given(st.from_regex(r"\A[a-zA-Z]{2,9}(-[a-z0-9]{1,70}){1,3}-?\Z"))
def test_botocore_accepts_every_accepted_region(text: str) -> None:
    """botocore accepts every region that `region` accepts, so that creating a client cannot fail."""
    with suppress(BadValueError):
        validate_region_name(region().parse(text))
