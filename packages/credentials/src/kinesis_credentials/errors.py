"""
Every error of this package, one class per situation that a caller can act on.

    CredentialsError
    ├── IncompleteKeysError (ValueError)   a key without its secret, or the reverse
    ├── ProfileNotFoundError               no such profile in the AWS configuration
    ├── NoCredentialsError                 every source was tried and none served
    ├── SourceFailedError                  a source was there, but broke or was refused
    │   ├── RoleRefusedError               STS does not give the role to these credentials
    │   ├── ProviderClassError             a class of the user's cannot be used, or broke its contract
    │   └── SourceUnavailableError         retryable: STS or a metadata service did not answer this time
    └── RegionError (ValueError)           no region, or two that contradict each other

`CredentialsError.retryable` says whether the same source may serve later. All of them pickle. None of them
ever holds a key, a secret or a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from attrs import frozen


@frozen
class Attempt:
    """One source that was asked for credentials, and why it did not serve; or that it did."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


class CredentialsError(Exception):
    """Base class of all errors of this package."""

    retryable = False


class IncompleteKeysError(CredentialsError, ValueError):
    """Explicit keys lack a part, or a part cannot be one."""


class ProfileNotFoundError(CredentialsError):
    """A profile was named that the AWS configuration does not have."""


class RegionError(CredentialsError, ValueError):
    """No region could be found, or two places name different ones."""


class NoCredentialsError(CredentialsError):
    """
    No source served.

    Attributes:
        attempts: The sources in the order in which they were tried.
        role_arn: The role that was to be assumed with the credentials.
    """

    def __init__(self, attempts: Sequence[Attempt], role_arn: str | None = None) -> None:
        super().__init__(tuple(attempts), role_arn)
        self.attempts = tuple(attempts)
        self.role_arn = role_arn

    def __str__(self) -> str:
        role = f" to assume {self.role_arn} with" if self.role_arn else ""
        return (
            f"No AWS credentials were found{role}. Give keys (awsAccessKeyId and awsSecretKey), name a profile "
            "(awsProfile), or make one of botocore's sources available on driver and executors. "
            f"Tried: {list_attempts(self.attempts)}."
        )


class SourceFailedError(CredentialsError):
    """
    A source of credentials was configured, but broke or was refused when it was used.

    Attributes:
        code: AWS's error code, or the exception's class name when no answer came.
        request_id: AWS's request id, or "" when no answer came.
        attempts: The sources in the order in which they were tried, this one last; empty for one that stands alone.
    """

    def __init__(
        self, message: str, code: str = "", request_id: str = "", attempts: Sequence[Attempt] = ()
    ) -> None:
        super().__init__(message, code, request_id, tuple(attempts))
        self.code = code
        self.request_id = request_id
        self.attempts = tuple(attempts)

    def __str__(self) -> str:
        tried = f" Tried: {list_attempts(self.attempts)}." if self.attempts else ""
        return f"{self.args[0]}{tried}"


class RoleRefusedError(SourceFailedError):
    """STS refused to let the base credentials assume the role."""


class ProviderClassError(SourceFailedError):
    """A class of the user's cannot be imported or made, failed, or did not return credentials."""


class SourceUnavailableError(SourceFailedError):
    """STS, a metadata service or a provider class could not be reached, or failed for the moment."""

    retryable = True


E = TypeVar("E", bound=CredentialsError)


def for_role(error: E, role_arn: str) -> E | NoCredentialsError:
    """Return *error*, of the credentials that a role was to be assumed with, with that fact in it."""
    if isinstance(error, NoCredentialsError):
        return NoCredentialsError(error.attempts, role_arn)
    message, *rest = error.args
    return type(error)(f"{role_arn} cannot be assumed. {message}", *rest)


def list_attempts(attempts: Sequence[Attempt]) -> str:
    """Return *attempts* as a list within a sentence."""
    return "; ".join(str(attempt) for attempt in attempts)
