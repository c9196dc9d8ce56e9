"""
Where credentials come from, as values that pickle: a spec travels to executors, a session never does.

A spec says where to look; `open_session` looks. New kinds of specs join the union `CredentialSpec`.
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
        raise IncompleteKeysError(f"The {name} {UNSIGNABLE}; copy it again without.")


@frozen
class StaticKeys:
    """
    Keys given by the user, with the session token that temporary keys need. They are never refreshed.

    Raises:
        IncompleteKeysError: The key id comes without a secret key, or the reverse; or what cannot be sent is in one.
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
    A named profile of the AWS configuration files, with everything such a profile may say: keys, a role to
    assume, SSO, a process.

    Only the profile is asked. One that holds no credentials is an error, and never falls through to the
    environment or to the machine's own role.
    """

    name: str


@frozen
class DefaultChain:
    """botocore's default chain: environment, profile, web identity, container, instance metadata."""


@frozen
class InstanceProfile:
    """
    The role of the EC2 instance, from its metadata service by version 2 of the protocol. Nothing else is asked.

    In a container on the instance, that needs a hop limit of 2 in the instance's metadata options.
    """


@frozen
class ProviderClass:
    """
    A class of the user's, by its dotted path, such as `company.aws.VaultCredentials`.

    It is made once in a process, `VaultCredentials(param)`, or `VaultCredentials()` without a param, and has a method
    `get_credentials()`, which one thread at a time calls, whenever keys are needed or will expire soon. That returns
    one of:

    * a mapping with `AccessKeyId`, `SecretAccessKey` and, where they are temporary, `SessionToken` and `Expiration`:
      an aware datetime, or ISO 8601 text with Z or an offset. That is what STS answers under `Credentials`, too.
      Without `Expiration` it is called again only when AWS no longer takes the keys.
    * credentials of botocore, or of boto3, which refresh themselves.

    An OSError (a TimeoutError, a ConnectionError) and botocore's connection errors count as passing trouble, for which
    a running query tries again; every other exception ends it.
    """

    class_path: str
    param: str | None = field(default=None, repr=False)


@frozen
class AssumeRole:
    """
    A role that STS gives to *base*, which is any other spec, also a role.

    STS is asked in the region that the session works in, unless *sts_endpoint_url* says where. Temporary keys of
    an hour, which is the longest for a role on a role, are refreshed 15 minutes before they expire.
    """

    base: CredentialSpec
    role_arn: str
    session_name: str
    external_id: str | None = field(default=None, repr=False)
    sts_endpoint_url: str | None = None


CredentialSpec = StaticKeys | Profile | DefaultChain | InstanceProfile | ProviderClass | AssumeRole


def find_profile(spec: CredentialSpec) -> str | None:
    """Return the profile that *spec* names, be it under roles."""
    while isinstance(spec, AssumeRole):
        spec = spec.base
    return spec.name if isinstance(spec, Profile) else None
