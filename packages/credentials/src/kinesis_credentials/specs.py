"""
Where credentials come from, as values that pickle: a spec travels to executors, a session never does.

A spec says where to look; `open_session` looks. New kinds of specs join the union `CredentialSpec`.
"""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

from kinesis_credentials.errors import IncompleteKeysError


def _mask(key_id: str) -> str:
    """Return the last four characters, as the AWS command line shows a key id."""
    return f"'****{key_id[-4:]}'" if len(key_id) >= 16 else "'****'"


def _check_no_whitespace(_: Any, attribute: Attribute[str], value: str | None) -> None:
    if value is not None and any(character.isspace() for character in value):
        name = attribute.name.replace("_", " ")
        raise IncompleteKeysError(f"The {name} has white space in it; copy it again without.")


@frozen
class StaticKeys:
    """
    Keys given by the user, with the session token that temporary keys need. They are never refreshed.

    Raises:
        IncompleteKeysError: The key id comes without a secret key, or the reverse; or white space is in one.
    """

    access_key_id: str = field(repr=_mask, validator=_check_no_whitespace)
    secret_key: str = field(repr=False, validator=_check_no_whitespace)
    session_token: str | None = field(default=None, repr=False, validator=_check_no_whitespace)

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


CredentialSpec = StaticKeys | Profile | DefaultChain
