"""Where credentials come from: the options that say so, and the spec that they make together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinesis_core.errors import OptionError
from kinesis_core.options.option import Option, Unsupported, awslabs, databricks, qubole
from kinesis_core.options.parsers import boolean, matching, optional_text, text, url
from kinesis_core.options.table import Values
from kinesis_credentials import (
    AssumeRole,
    CredentialSpec,
    DefaultChain,
    IncompleteKeysError,
    InstanceProfile,
    Profile,
    ProviderClass,
    StaticKeys,
)

CREDENTIALS = "Credentials"

AWS_ACCESS_KEY_ID = Option[str | None](
    name="awsAccessKeyId",
    meaning="The id of an access key, together with `awsSecretKey`.",
    parser=text("the id of an access key"),
    default=None,
    default_text="botocore's chain",
    group=CREDENTIALS,
    aliases=(
        awslabs("kinesis.awsAccessKeyId"),
        qubole("awsAccessKeyId"),
        databricks("awsAccessKey"),
    ),
    is_secret=True,
)
AWS_SECRET_KEY = Option[str | None](
    name="awsSecretKey",
    meaning="The secret of the access key.",
    parser=text("the secret of an access key"),
    default=None,
    default_text="botocore's chain",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.awsSecretKey"), qubole("awsSecretKey"), databricks("awsSecretKey")),
    is_secret=True,
)
SESSION_TOKEN = Option[str | None](
    name="sessionToken",
    meaning="The session token that belongs to a temporary access key.",
    parser=optional_text("the session token of a temporary access key"),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.sessionToken"), qubole("sessionToken"), databricks("sessionToken")),
    is_secret=True,
)
AWS_PROFILE = Option[str | None](
    name="awsProfile",
    meaning="A profile of the AWS configuration files, which driver and executors must have.",
    parser=text("the name of a profile"),
    default=None,
    default_text="botocore's chain",
    group=CREDENTIALS,
)
AWS_USE_INSTANCE_PROFILE = Option[bool](
    name="awsUseInstanceProfile",
    meaning="Whether the role of the EC2 instance is used, by IMDSv2, and nothing else is asked. Keys that are given go first.",
    parser=boolean(),
    default=False,
    default_text="`false`: botocore's chain, which ends with it",
    group=CREDENTIALS,
    aliases=(qubole("awsUseInstanceProfile"),),
)
CREDENTIAL_PROVIDER_CLASS = Option[str | None](
    name="credentialProviderClass",
    meaning="A class of your own that gives credentials, by its dotted Python path; driver and executors must have it.",
    parser=matching(
        r"[^\W\d]\w*(\.[^\W\d]\w*)+", "the dotted path of a Python class, such as company.aws.Vault"
    ),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.credentialProviderClass"),),
)
CREDENTIAL_PROVIDER_PARAM = Option[str | None](
    name="credentialProviderParam",
    meaning="What the class is made with, as one text; without it, the class is made without arguments.",
    parser=text("the parameter of the credential provider class"),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.credentialProviderParam"),),
    is_secret=True,
    needs=CREDENTIAL_PROVIDER_CLASS,
)
STS_ROLE_ARN = Option[str | None](
    name="stsRoleArn",
    meaning="A role to assume with the credentials that the other options, or botocore's chain, give.",
    parser=matching(
        r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,576}",
        "the ARN of a role, such as arn:aws:iam::123456789012:role/reader",
    ),
    default=None,
    default_text="no role",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.stsRoleArn"), qubole("awsSTSRoleARN"), databricks("roleArn")),
)
STS_SESSION_NAME = Option[str | None](
    name="stsSessionName",
    meaning="What CloudTrail calls the session of the role; required with `stsRoleArn`.",
    parser=matching(r"[a-zA-Z0-9_+=,.@-]{2,64}", "2 to 64 letters, digits and any of _+=,.@-"),
    default=None,
    default_text="none; `spark-kinesis` with `roleArn`",
    group=CREDENTIALS,
    aliases=(
        awslabs("kinesis.stsSessionName"),
        qubole("awsSTSSessionName"),
        databricks("roleSessionName"),
    ),
    needs=STS_ROLE_ARN,
)
STS_EXTERNAL_ID = Option[str | None](
    name="stsExternalId",
    meaning="The external id that the role's trust policy asks for.",
    parser=matching(r"[a-zA-Z0-9_+=,.@:/-]{2,1224}", "2 to 1224 letters, digits and any of _+=,.@:/-"),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(databricks("roleExternalId"),),
    is_secret=True,
    needs=STS_ROLE_ARN,
)
STS_ENDPOINT_URL = Option[str | None](
    name="stsEndpointUrl",
    meaning="Where STS answers, for `stsRoleArn`: a VPC endpoint, another region's, or a local server.",
    parser=url(),
    default=None,
    default_text="that of the region",
    group=CREDENTIALS,
    aliases=(
        awslabs("kinesis.stsEndpointUrl"),
        databricks("stsEndpoint", url(default_scheme="https")),
    ),
    needs=STS_ROLE_ARN,
)

CREDENTIAL_OPTIONS = (
    AWS_ACCESS_KEY_ID,
    AWS_SECRET_KEY,
    SESSION_TOKEN,
    AWS_PROFILE,
    AWS_USE_INSTANCE_PROFILE,
    CREDENTIAL_PROVIDER_CLASS,
    CREDENTIAL_PROVIDER_PARAM,
    STS_ROLE_ARN,
    STS_SESSION_NAME,
    STS_EXTERNAL_ID,
    STS_ENDPOINT_URL,
)
CREDENTIALS_UNSUPPORTED = (
    Unsupported(
        names=("serviceCredential",),
        feature="Unity Catalog's service credentials",
        instead="Name a role in 'stsRoleArn', a profile, keys, a class of your own, or leave all out for botocore's chain.",
    ),
)

DATABRICKS_ROLE = "roleArn"
DATABRICKS_SESSION = "spark-kinesis"
"""What a session is called that Databricks' name for the role asks for: it may do without a name there."""
_KEY_PARTS = (AWS_ACCESS_KEY_ID, AWS_SECRET_KEY, SESSION_TOKEN)


def read_credentials(values: Values) -> CredentialSpec:
    """Return where credentials come from: what one option or another says, else botocore's chain; and a role on top."""
    base = _read_base_credentials(values)
    role_arn, session_name = values[STS_ROLE_ARN], values[STS_SESSION_NAME]
    if role_arn is None:
        return base
    if session_name is None and values.is_spelled(STS_ROLE_ARN, DATABRICKS_ROLE):
        session_name = DATABRICKS_SESSION
    if session_name is None:
        raise OptionError(f"{values.label(STS_ROLE_ARN)} needs '{STS_SESSION_NAME.name}' beside it.")
    return AssumeRole(base, role_arn, session_name, values[STS_EXTERNAL_ID], values[STS_ENDPOINT_URL])


def _read_base_credentials(values: Values) -> CredentialSpec:
    found = list(_list_sources(values))
    if len(found) > 1:
        first, second = (values.label(option) for option, _ in found[:2])
        raise OptionError(f"{first} and {second} are two sources of credentials. Keep one of them.")
    return found[0][1] if found else DefaultChain()


def _list_sources(values: Values) -> Iterator[tuple[Option[Any], CredentialSpec]]:
    """Yield each source that the options name, with the option to call it by."""
    profile, class_path = values[AWS_PROFILE], values[CREDENTIAL_PROVIDER_CLASS]
    key = next((part for part in _KEY_PARTS if values[part] is not None), None)
    if key is not None:
        yield key, _read_keys(values)
    if profile is not None:
        yield AWS_PROFILE, Profile(profile)
    if values[AWS_USE_INSTANCE_PROFILE] and key is None:  # so in qubole's connector, whose examples give both
        yield AWS_USE_INSTANCE_PROFILE, InstanceProfile()
    if class_path is not None:
        yield CREDENTIAL_PROVIDER_CLASS, ProviderClass(class_path, values[CREDENTIAL_PROVIDER_PARAM])


def _read_keys(values: Values) -> StaticKeys:
    key_id, secret, token = values[AWS_ACCESS_KEY_ID], values[AWS_SECRET_KEY], values[SESSION_TOKEN]
    if key_id is None or secret is None:
        have = next(part for part in _KEY_PARTS if values[part] is not None)
        missing = " and ".join(f"'{part.name}'" for part in _KEY_PARTS[:2] if values[part] is None)
        raise OptionError(f"{values.label(have)} needs {missing} beside it.")
    try:
        return StaticKeys(key_id, secret, token)
    except IncompleteKeysError as error:
        raise OptionError(f"{values.label(AWS_ACCESS_KEY_ID)} and its like are damaged. {error}") from None
