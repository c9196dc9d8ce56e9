"""
The errors of this package: one class for each situation that a caller can act on.

    KinesisError
    └── CredentialsError
        ├── IncompleteKeysError (ValueError)   explicit keys lack a part, or a part cannot be sent
        ├── ProfileNotFoundError               the AWS configuration has no such profile
        ├── NoCredentialsError                 no source has credentials
        ├── SourceFailedError                  a source is configured, but failed or was refused
        │   ├── RoleRefusedError               STS refuses to let these credentials assume the role
        │   ├── ProviderClassError             the user's provider class cannot be used, or breaks its contract
        │   └── SourceUnavailableError         retryable: STS or a metadata service did not respond this time
        └── RegionError (ValueError)           no region is found, or two contradict each other

`CredentialsError.retryable` is true where the same source may succeed later. All errors pickle. They never hold a
key, a secret or a token.

The reference page of errors is made of the docstrings: the first paragraph says what happened, the next ones what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TypeVar

from attrs import frozen

from kinesis_credentials.advice import Advice, Advices
from kinesis_credentials.base import KinesisError


@frozen
class Attempt:
    """One source that was tried, and its result: it returned credentials, or the reason why not."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


class CredentialsError(KinesisError):
    """
    Base class of all errors of credentials and regions.

    Attributes:
        retryable: Whether the same source may succeed later.
    """

    retryable = False


class IncompleteKeysError(CredentialsError, ValueError):
    """
    Explicit keys lack a part, or a part has characters that cannot be sent.

    Give both the access key id and the secret key, and for temporary keys the session token, without spaces or newlines.
    """


class ProfileNotFoundError(CredentialsError):
    """
    The AWS configuration does not have the named profile.

    Correct the name, or add the profile on every machine that makes calls.
    """


class RegionError(CredentialsError, ValueError):
    """
    No region is found, a name is not the name of a region, or two settings name different regions.

    Set the region, or remove the setting that is wrong.
    """


class NoCredentialsError(CredentialsError):
    """
    No source has credentials.

    Configure one of the sources in the message, on every machine that makes calls.

    Attributes:
        attempts: The sources in the order in which they were tried, with the reason of each.
        role_arn: The role that the credentials should assume; None without a role.
    """

    def __init__(self, attempts: Sequence[Attempt], role_arn: str | None = None) -> None:
        role = f" to assume {role_arn} with" if role_arn else ""
        super().__init__(
            f"No AWS credentials were found{role}.",
            advice=Advice.GIVE_CREDENTIALS,
            tried=list_attempts(attempts),
        )
        self.attempts = tuple(attempts)
        self.role_arn = role_arn


class SourceFailedError(CredentialsError):
    """
    A source of credentials is configured, but it failed or was refused.

    Repair the source, or use another one. The message has its reason.

    Attributes:
        code: AWS's error code, or the exception's class name when there was no response.
        request_id: AWS's request id, or "" when there was no response.
        attempts: The sources in the order in which they were tried, this one last; empty if it is the only source.
    """

    def __init__(
        self,
        what: str,
        code: str = "",
        request_id: str = "",
        attempts: Sequence[Attempt] = (),
        advice: Advices = (),
    ) -> None:
        super().__init__(what, advice=advice)
        if attempts:
            self.where["tried"] = list_attempts(attempts)
        self.code = code
        self.request_id = request_id
        self.attempts = tuple(attempts)


class RoleRefusedError(SourceFailedError):
    """
    STS refused to let the base credentials assume the role.

    Allow `sts:AssumeRole` on the role to the base credentials, and let the role's trust policy name them.
    """


class ProviderClassError(SourceFailedError):
    """
    The user's provider class cannot be imported or instantiated, failed, or did not return credentials.

    Correct the class, and install it on every machine that makes calls.
    """


class SourceUnavailableError(SourceFailedError):
    """
    STS, a metadata service or a provider class could not be reached, or failed temporarily.

    Check the network to the source. If it is right, start again later.
    """

    retryable = True


E = TypeVar("E", bound=CredentialsError)


def for_role(error: E, role_arn: str) -> E | NoCredentialsError:
    """Return *error*, an error of a role's base credentials, with the role's ARN added to it."""
    if isinstance(error, NoCredentialsError):
        return NoCredentialsError(error.attempts, role_arn)
    outer = copy(error)
    outer.what = f"{role_arn} cannot be assumed. {error.what}"
    return outer


def list_attempts(attempts: Sequence[Attempt]) -> str:
    """Return *attempts* as text, separated by semicolons."""
    return "; ".join(str(attempt) for attempt in attempts)
