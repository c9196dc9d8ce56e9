"""The options of credentials, and the credential spec that they result in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinesis_core.errors import OptionError
from kinesis_core.options.foreign import DATABRICKS_ROLE, DATABRICKS_SESSION
from kinesis_core.options.option import Alternatives, Group, Option
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

CREDENTIALS = Group("Credentials")

AWS_ACCESS_KEY_ID = CREDENTIALS.option(
    name="awsAccessKeyId",
    meaning="The id of an access key. It requires `awsSecretKey`.",
    parser=text("the id of an access key"),
    default_text="botocore's credential chain",
    is_secret=True,
)
AWS_SECRET_KEY = CREDENTIALS.option(
    name="awsSecretKey",
    meaning="The secret of the access key. It requires `awsAccessKeyId`.",
    parser=text("the secret of an access key"),
    default_text="botocore's credential chain",
    is_secret=True,
)
SESSION_TOKEN = CREDENTIALS.option(
    name="sessionToken",
    meaning="The session token of a temporary access key.",
    parser=optional_text("the session token of a temporary access key"),
    is_secret=True,
)
AWS_PROFILE = CREDENTIALS.option(
    name="awsProfile",
    meaning="A profile in the AWS configuration files. Driver and executors must have it.",
    parser=text("the name of a profile"),
    default_text="botocore's credential chain",
)
AWS_USE_INSTANCE_PROFILE = CREDENTIALS.option(
    name="awsUseInstanceProfile",
    meaning=(
        "Whether credentials come only from the role of the EC2 instance, by IMDSv2. Access keys that are set take "
        "precedence. `false` means botocore's credential chain, which tries this role last."
    ),
    parser=boolean(),
    default=False,
)
CREDENTIAL_PROVIDER_CLASS = CREDENTIALS.option(
    name="credentialProviderClass",
    meaning="The dotted path of your own Python class that returns credentials. Driver and executors must have it.",
    parser=matching(
        r"[^\W\d]\w*(\.[^\W\d]\w*)+", "the dotted path of a Python class, such as company.aws.Vault"
    ),
)
CREDENTIAL_PROVIDER_PARAM = CREDENTIALS.option(
    name="credentialProviderParam",
    meaning="The argument for the class, one text. If it is not set, the class is created without arguments.",
    parser=text("the parameter of the credential provider class"),
    is_secret=True,
    needs=CREDENTIAL_PROVIDER_CLASS,
)
STS_ROLE_ARN = CREDENTIALS.option(
    name="stsRoleArn",
    meaning=(
        "A role to assume. The credentials of the other options, or of botocore's credential chain, are used to assume it."
    ),
    parser=matching(
        r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,576}",
        "the ARN of a role, such as arn:aws:iam::123456789012:role/reader",
    ),
)
STS_SESSION_NAME = CREDENTIALS.option(
    name="stsSessionName",
    meaning="The name of the role session in CloudTrail. `stsRoleArn` requires it.",
    parser=matching(r"[a-zA-Z0-9_+=,.@-]{2,64}", "2 to 64 letters, digits and any of _+=,.@-"),
    default_text=f"not set; `{DATABRICKS_SESSION}` if the role is named by `{DATABRICKS_ROLE}`",
    needs=STS_ROLE_ARN,
)
STS_EXTERNAL_ID = CREDENTIALS.option(
    name="stsExternalId",
    meaning="The external id that the trust policy of the role requires.",
    parser=matching(r"[a-zA-Z0-9_+=,.@:/-]{2,1224}", "2 to 1224 letters, digits and any of _+=,.@:/-"),
    is_secret=True,
    needs=STS_ROLE_ARN,
)
STS_ENDPOINT_URL = CREDENTIALS.option(
    name="stsEndpointUrl",
    meaning="The URL of STS for `stsRoleArn`, for example of a VPC endpoint, another region or a local server.",
    parser=url(),
    default_text="botocore's endpoint of the region",
    needs=STS_ROLE_ARN,
)

_KEY_PARTS = (AWS_ACCESS_KEY_ID, AWS_SECRET_KEY, SESSION_TOKEN)
CREDENTIAL_ALTERNATIVES: Alternatives = (
    _KEY_PARTS,
    (AWS_PROFILE,),
    (AWS_USE_INSTANCE_PROFILE,),
    (CREDENTIAL_PROVIDER_CLASS, CREDENTIAL_PROVIDER_PARAM),
)


def read_credentials(values: Values) -> CredentialSpec:
    """
    Return the source of credentials: what the options name, else botocore's chain; and the role to assume with it.

    Raises:
        OptionError: Two sources are named, a key is incomplete or damaged, or the role has no session name.
    """
    base = _read_base_credentials(values)
    role_arn, session_name = values[STS_ROLE_ARN], values[STS_SESSION_NAME]
    if role_arn is None:
        return base
    if session_name is None and values.is_spelled(STS_ROLE_ARN, DATABRICKS_ROLE):
        session_name = DATABRICKS_SESSION
    if session_name is None:
        raise OptionError(f"{values.label(STS_ROLE_ARN)} also requires '{STS_SESSION_NAME.name}'.")
    return AssumeRole(base, role_arn, session_name, values[STS_EXTERNAL_ID], values[STS_ENDPOINT_URL])


def _read_base_credentials(values: Values) -> CredentialSpec:
    found = list(_list_sources(values))
    if len(found) > 1:
        first, second = (values.label(option) for option, _ in found[:2])
        raise OptionError(f"{first} and {second} are two sources of credentials. Keep one of them.")
    return found[0][1] if found else DefaultChain()


def _list_sources(values: Values) -> Iterator[tuple[Option[Any], CredentialSpec]]:
    """Yield each source that the options name, with the option that names it."""
    profile, class_path = values[AWS_PROFILE], values[CREDENTIAL_PROVIDER_CLASS]
    key = next((part for part in _KEY_PARTS if values[part] is not None), None)
    if key is not None:
        yield key, _read_keys(values)
    if profile is not None:
        yield AWS_PROFILE, Profile(profile)
    if (
        values[AWS_USE_INSTANCE_PROFILE] and key is None
    ):  # the examples of qubole's connector set both, and keys win
        yield AWS_USE_INSTANCE_PROFILE, InstanceProfile()
    if class_path is not None:
        yield CREDENTIAL_PROVIDER_CLASS, ProviderClass(class_path, values[CREDENTIAL_PROVIDER_PARAM])


def _read_keys(values: Values) -> StaticKeys:
    key_id, secret, token = values[AWS_ACCESS_KEY_ID], values[AWS_SECRET_KEY], values[SESSION_TOKEN]
    if key_id is None or secret is None:
        have = next(part for part in _KEY_PARTS if values[part] is not None)
        missing = " and ".join(f"'{part.name}'" for part in _KEY_PARTS[:2] if values[part] is None)
        raise OptionError(f"{values.label(have)} also requires {missing}.")
    try:
        return StaticKeys(key_id, secret, token)
    except IncompleteKeysError as error:
        raise OptionError(
            f"{values.label(AWS_ACCESS_KEY_ID)} or a part that belongs to it is damaged. {error}"
        ) from None
