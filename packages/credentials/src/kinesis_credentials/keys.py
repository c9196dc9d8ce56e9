"""Keys as a source gives them, and how they are read from a response of STS or of a user's class."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

UNSIGNABLE = "has white space, a control character or a letter outside ASCII in it"


class MalformedKeysError(ValueError):
    """A response does not hold valid keys. The message names the fault and shows nothing of the response."""


@frozen
class Keys:
    """The keys to sign with, and when they expire. The repr shows no key."""

    access_key_id: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires: datetime | None = None

    @staticmethod
    def read(response: Mapping[str, Any]) -> Keys:
        """
        Return the keys in *response*, which has the names that STS and `credential_process` use.

        Raises:
            MalformedKeysError: Something is missing, of another type, or cannot be sent.
        """
        return Keys(
            _read_text(response, "AccessKeyId"),
            _read_text(response, "SecretAccessKey"),
            _read_text(response, "SessionToken") if response.get("SessionToken") is not None else None,
            _read_expiration(response.get("Expiration")),
        )

    def freeze(self) -> ReadOnlyCredentials:
        """Return the keys as botocore's type."""
        from botocore.credentials import Credentials  # specs use this module, without botocore

        return Credentials(self.access_key_id, self.secret_key, self.session_token).get_frozen_credentials()


def is_signable(part: str) -> bool:
    """Return whether *part* of the keys can be sent. If not, http.client would raise an error that shows it."""
    return part.isascii() and part.isprintable() and " " not in part


def _read_text(response: Mapping[str, Any], name: str) -> str:
    value = response.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedKeysError(f"'{name}' is missing" if value is None else f"'{name}' is not text")
    if not is_signable(value):
        raise MalformedKeysError(f"'{name}' {UNSIGNABLE}")
    return value


def _read_expiration(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        # Python 3.10 does not parse Z.
        expires = datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value
    except ValueError:
        raise MalformedKeysError("'Expiration' is not ISO 8601") from None
    if not isinstance(expires, datetime) or expires.tzinfo is None:
        raise MalformedKeysError("'Expiration' is not a time with Z or an offset")
    return expires
