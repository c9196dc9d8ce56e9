"""The options of credentials and of the proxy: every option by every name, and contradictions."""

from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import pytest

from kinesis_core.aws import Connection
from kinesis_core.errors import OptionError
from kinesis_core.options import COMMON_OPTIONS, OptionTable, aliases_of, read_connection
from kinesis_core.options.credentials import CREDENTIALS
from kinesis_core.options.proxy import PROXY
from kinesis_credentials import (
    AssumeRole,
    CredentialSpec,
    DefaultChain,
    InstanceProfile,
    Profile,
    ProviderClass,
    StaticKeys,
)

TABLE = OptionTable(COMMON_OPTIONS)
KEYS = {"awsAccessKeyId": "AKIDEXAMPLE", "awsSecretKey": "s3cr3t"}
ROLE_ARN = "arn:aws:iam::123456789012:role/reader"
ROLE = {"stsRoleArn": ROLE_ARN, "stsSessionName": "tests"}
STS = "https://sts.eu-west-1.amazonaws.com"
CLASS = "company.aws.Vault"

# Our name, a value, the options that it requires, the result; then the names of other connectors with equal values.
SOURCES: list[tuple[str, str, dict[str, str], CredentialSpec, dict[str, str]]] = [
    (
        "awsAccessKeyId",
        "AKIDEXAMPLE",
        {"awsSecretKey": "s3cr3t"},
        StaticKeys("AKIDEXAMPLE", "s3cr3t"),
        {"kinesis.awsAccessKeyId": "AKIDEXAMPLE", "awsAccessKey": "AKIDEXAMPLE"},
    ),
    (
        "awsSecretKey",
        "s3cr3t",
        {"awsAccessKeyId": "AKIDEXAMPLE"},
        StaticKeys("AKIDEXAMPLE", "s3cr3t"),
        {"kinesis.awsSecretKey": "s3cr3t"},
    ),
    (
        "sessionToken",
        "t0ken",
        KEYS,
        StaticKeys("AKIDEXAMPLE", "s3cr3t", "t0ken"),
        {"kinesis.sessionToken": "t0ken"},
    ),
    ("awsProfile", "default", {}, Profile("default"), {}),
    ("awsUseInstanceProfile", "true", {}, InstanceProfile(), {}),
    ("credentialProviderClass", CLASS, {}, ProviderClass(CLASS), {"kinesis.credentialProviderClass": CLASS}),
    (
        "credentialProviderParam",
        "path",
        {"credentialProviderClass": CLASS},
        ProviderClass(CLASS, "path"),
        {"kinesis.credentialProviderParam": "path"},
    ),
    (
        "stsRoleArn",
        ROLE_ARN,
        {"stsSessionName": "tests"},
        AssumeRole(DefaultChain(), ROLE_ARN, "tests"),
        {"kinesis.stsRoleArn": ROLE_ARN, "awsSTSRoleARN": ROLE_ARN, "roleArn": ROLE_ARN},
    ),
    (
        "stsSessionName",
        "tests",
        {"stsRoleArn": ROLE_ARN},
        AssumeRole(DefaultChain(), ROLE_ARN, "tests"),
        {"kinesis.stsSessionName": "tests", "awsSTSSessionName": "tests", "roleSessionName": "tests"},
    ),
    (
        "stsExternalId",
        "some:id",
        ROLE,
        AssumeRole(DefaultChain(), ROLE_ARN, "tests", "some:id"),
        {"roleExternalId": "some:id"},
    ),
    (
        "stsEndpointUrl",
        STS,
        ROLE,
        AssumeRole(DefaultChain(), ROLE_ARN, "tests", None, STS),
        {"kinesis.stsEndpointUrl": STS, "stsEndpoint": "sts.eu-west-1.amazonaws.com", "awsSTSEndpoint": STS},
    ),
]
PROXIES: list[tuple[str, str, dict[str, str], str, dict[str, str]]] = [
    ("proxyUrl", "http://u:p@proxy:3128/", {}, "http://u:p@proxy:3128", {}),
    ("proxyAddress", "proxy", {}, "http://proxy:443", {"kinesis.sink.proxyAddress": "proxy"}),
    (
        "proxyPort",
        "3128",
        {"proxyAddress": "[::1]"},
        "http://[::1]:3128",
        {"kinesis.sink.proxyPort": "3128"},
    ),
    (
        "proxyUsername",
        "u@x",
        {"proxyAddress": "proxy"},
        "http://u%40x@proxy:443",
        {"kinesis.sink.proxyUsername": "u@x"},
    ),
    (
        "proxyPassword",
        "p:/w",
        {"proxyAddress": "proxy", "proxyUsername": "u"},
        "http://u:p%3A%2Fw@proxy:443",
        {"kinesis.sink.proxyPassword": "p:/w"},
    ),
]


def connect(**given: object) -> Connection:
    return read_connection(TABLE.read({"streamName": "orders", "region": "eu-west-1", **given}))


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        ({name: value, **beside}, spec)
        for ours, good, beside, spec, others in SOURCES
        for name, value in {ours: good, **others}.items()
    ],
)
def test_sources(given: dict[str, str], spec: CredentialSpec) -> None:
    """Every option that names a source of credentials works by every name."""
    assert connect(**given).credentials == spec


@pytest.mark.parametrize(
    ("given", "proxy_url"),
    [
        ({name: value, **beside}, proxy_url)
        for ours, good, beside, proxy_url, others in PROXIES
        for name, value in {ours: good, **others}.items()
    ],
)
def test_proxies(given: dict[str, str], proxy_url: str) -> None:
    """The proxy is given by its URL, or by its parts as in the awslabs connector."""
    assert connect(**given).proxy_url == proxy_url


def test_every_option_has_a_case() -> None:
    """Every option of credentials and of the proxy has a case here, by every name."""
    cases: list[Any] = [*SOURCES, *PROXIES]
    tried = {name for case in cases for name in (case[0], *case[4])} | {
        "awsSecretKey",
        "sessionToken",
        "checkPermissions",
    }
    for option in COMMON_OPTIONS:
        if option.group in (CREDENTIALS.title, PROXY.title):
            assert {option.name, *(alias.name for alias in aliases_of(option))} <= tried


def test_nothing_given() -> None:
    """Without any of these options, botocore's chain applies, and there is no proxy."""
    connection = connect(awsUseInstanceProfile="false", sessionToken="")
    assert connection.credentials == DefaultChain()
    assert connection.proxy_url is None


@pytest.mark.parametrize(
    ("base", "spec"),
    [
        (KEYS, StaticKeys("AKIDEXAMPLE", "s3cr3t")),
        ({"awsProfile": "default"}, Profile("default")),
        ({"awsUseInstanceProfile": "true"}, InstanceProfile()),
        ({**KEYS, "awsUseInstanceProfile": "true"}, StaticKeys("AKIDEXAMPLE", "s3cr3t")),
        ({"credentialProviderClass": CLASS}, ProviderClass(CLASS)),
    ],
)
def test_role_on_any_source(base: dict[str, str], spec: CredentialSpec) -> None:
    """A role may be assumed with the credentials of any other source."""
    assert connect(**ROLE, **base).credentials == AssumeRole(spec, ROLE_ARN, "tests")


@pytest.mark.parametrize(
    "names", [("roleArn",), ("ROLEARN",), ("kinesis.roleArn",), *permutations(["stsRoleArn", "roleArn"])]
)
def test_role_without_a_session_name(names: tuple[str, ...]) -> None:
    """Databricks' name for the role needs no session name, as on Databricks. The order of names does not matter."""
    connection = connect(**dict.fromkeys(names, ROLE_ARN))
    assert connection.credentials == AssumeRole(DefaultChain(), ROLE_ARN, "spark-kinesis")


@pytest.mark.parametrize(
    "given",
    [
        {"stsSessionName": "tests"},
        {"stsExternalId": "some-id"},
        {"stsEndpointUrl": STS},
        {"credentialProviderParam": "path"},
        {"proxyPort": "3128"},
        {"proxyUsername": "u"},
        {"proxyPassword": "p"},
    ],
)
def test_what_belongs_to_nothing(given: dict[str, str]) -> None:
    """An option that belongs to another one, which is not given, is accepted, and the log has one line about it."""
    [reason] = TABLE.read(given).ignored
    [name] = given
    assert reason.startswith(f"Option '{name}' has no effect here: it belongs to '")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stsRoleArn": ROLE_ARN}, "Option 'stsRoleArn' also requires 'stsSessionName'."),
        (
            {"awsSTSRoleARN": ROLE_ARN},
            "Option 'awsSTSRoleARN' ('stsRoleArn' here) also requires 'stsSessionName'.",
        ),
        (
            {**ROLE, "stsExternalId": "s3cr3t id"},
            "Option 'stsExternalId' has a value that is not accepted, and not shown. "
            "Use 2 to 1224 letters, digits and any of _+=,.@:/-.",
        ),
        (
            {"credentialProviderClass": CLASS, "awsUseInstanceProfile": "true"},
            "Option 'awsUseInstanceProfile' and Option 'credentialProviderClass' are two sources of credentials. "
            "Keep one of them.",
        ),
        (
            {"proxyUrl": "proxy:3128"},
            "Option 'proxyUrl' has a value that is not accepted, and not shown. "
            "Use the http or https URL of a proxy, such as http://proxy.example.com:3128.",
        ),
        (
            {"proxyUrl": "http://proxy:3128", "kinesis.sink.proxyAddress": "other"},
            "Option 'proxyUrl' and Option 'kinesis.sink.proxyAddress' ('proxyAddress' here) name different proxies. "
            "Keep one of them.",
        ),
        *(
            (
                {"proxyAddress": address},
                f"Option 'proxyAddress' {shown}. Set a URL with 'proxyUrl', or its parts with 'proxyPort', "
                "'proxyUsername' and 'proxyPassword'. Use the name or address of a host.",
            )
            for address, shown in (
                ("proxy:3128", "is 'proxy:3128'"),
                ("clerk:s3cr3t@proxy", "has a value that is not accepted, and not shown"),
                ("clerk:s3cr3t", "has a value that is not accepted, and not shown"),
                ("proxy/?token=s3cr3t", "has a value that is not accepted, and not shown"),
            )
        ),
        (
            {"proxyAddress": "proxy", "proxyPassword": "s3cr3t"},
            "Option 'proxyPassword' also requires 'proxyUsername'.",
        ),
    ],
)
def test_refusals(given: dict[str, str], message: str) -> None:
    """A refusal names what is missing or contradicts, and what to do. It has no secret."""
    with pytest.raises(OptionError) as caught:
        connect(**given)
    assert str(caught.value) == message


def test_travels() -> None:
    """A connection pickles with all of them. Neither its repr nor that of its copy shows a secret."""
    connection = connect(
        **ROLE,
        stsExternalId="s3cr3t-id",
        credentialProviderClass=CLASS,
        credentialProviderParam="s3cr3t-param",
        proxyUrl="http://user:s3cr3t-word@proxy:3128",
    )
    copy = pickle.loads(pickle.dumps(connection))  # noqa: S301 - our own bytes
    assert copy == connection
    assert "s3cr3t" not in repr(copy) + str(connection)
