"""
Specs: picklable values that name a source of credentials. Spark sends specs to executors, never sessions.

`open_session` fetches the credentials of a spec. The union `CredentialSpec` lists all kinds of specs.
"""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

from kinesis_credentials.errors import IncompleteKeysError
from kinesis_credentials.keys import UNSIGNABLE, is_signable


def _mask(key_id: str) -> str:
    """Return the last four characters, as the AWS command line shows a key id."""
    return f"'****{key_id[-4:]}'" if len(key_id) >= 16 else "'****'"


def _check_signable(_: Any, attribute: Attribute[str], value: str | None) -> None:
    if value is not None and not is_signable(value):
        name = attribute.name.replace("_", " ")
        raise IncompleteKeysError(f"The {name} {UNSIGNABLE}; copy it again without it.")


@frozen
class StaticKeys:
    """
    Explicit keys, with the session token that temporary keys need. They are never refreshed.

    Raises:
        IncompleteKeysError: The key id or the secret key is missing, or a part has characters that cannot be sent.
    """

    access_key_id: str = field(repr=_mask, validator=_check_signable)
    secret_key: str = field(repr=False, validator=_check_signable)
    session_token: str | None = field(default=None, repr=False, validator=_check_signable)

    def __attrs_post_init__(self) -> None:
        if self.access_key_id and self.secret_key:
            return
        given = self.access_key_id or self.secret_key
        have = "access key id" if self.access_key_id else "secret key" if given else "session token"
        missing = " and ".join(
            name
            for name, value in (("access key id", self.access_key_id), ("secret key", self.secret_key))
            if not value
        )
        raise IncompleteKeysError(f"The {have} needs the {missing} beside it.")


@frozen
class Profile:
    """
    A named profile of the AWS configuration files. It supports everything that AWS's profiles support: keys, a role to assume,
    SSO, a credential process.

    No other source is tried. A profile without credentials is an error; it never falls back to the environment or to the
    machine's role.
    """

    name: str


@frozen
class DefaultChain:
    """botocore's default chain: environment, profile, web identity, container, instance metadata."""


@frozen
class InstanceProfile:
    """
    The role of the EC2 instance, from its metadata service by IMDSv2. No other source is tried.

    In a container on the instance this needs a hop limit of 2 in the instance's metadata options.
    """


@frozen
class ProviderClass:
    """
    A provider class of the user, by its dotted path, such as `company.aws.VaultCredentials`.

    Each process creates one instance: `VaultCredentials(param)`, or `VaultCredentials()` without a param. Its method
    `get_credentials()` is called by one thread at a time, when keys are needed or expire soon. It returns one of:

    * a mapping with `AccessKeyId`, `SecretAccessKey` and, for temporary keys, `SessionToken` and `Expiration` (an aware
      datetime, or ISO 8601 text with Z or an offset), as STS returns it under `Credentials`. Without `Expiration` the
      method is called again only when AWS no longer accepts the keys.
    * credentials of botocore or boto3, which refresh themselves.

    An OSError (such as TimeoutError or ConnectionError) and botocore's connection errors count as temporary: a running
    query tries again. Every other exception ends the query.
    """

    class_path: str
    param: str | None = field(default=None, repr=False)


@frozen
class AssumeRole:
    """
    A role that is assumed with the credentials of *base*. *base* is any other spec, even another role.

    STS is called in the session's region, or at *sts_endpoint_url*. The keys are valid for an hour, the longest time
    for a role assumed by a role, and are refreshed 15 minutes before they expire.
    """

    base: CredentialSpec
    role_arn: str
    session_name: str
    external_id: str | None = field(default=None, repr=False)
    sts_endpoint_url: str | None = None


CredentialSpec = StaticKeys | Profile | DefaultChain | InstanceProfile | ProviderClass | AssumeRole


def find_profile(spec: CredentialSpec) -> str | None:
    """Return the profile that *spec* names, directly or as the base of a role."""
    while isinstance(spec, AssumeRole):
        spec = spec.base
    return spec.name if isinstance(spec, Profile) else None
