"""
Every error of this package, one class per situation that a caller can act on.

    CredentialsError
    ├── IncompleteKeysError (ValueError)   a key without its secret, or the reverse
    ├── ProfileNotFoundError               no such profile in the AWS configuration
    ├── NoCredentialsError                 every source was tried and none served
    ├── SourceFailedError                  a source was there, but broke or was refused
    └── RegionError (ValueError)           no region, or two that contradict each other

All of them pickle. None of them ever holds a key, a secret or a token.
"""

from __future__ import annotations

from attrs import frozen


class CredentialsError(Exception):
    """Base class of all errors of this package."""


class IncompleteKeysError(CredentialsError, ValueError):
    """Explicit keys lack a part, or a part cannot be one."""


class ProfileNotFoundError(CredentialsError):
    """A profile was named that the AWS configuration does not have."""


class SourceFailedError(CredentialsError):
    """A source of credentials was configured, but broke or was refused when it was used."""


class RegionError(CredentialsError, ValueError):
    """No region could be found, or two places name different ones."""


@frozen
class Attempt:
    """One source that was asked for credentials, and why it did not serve."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


class NoCredentialsError(CredentialsError):
    """
    No source served.

    Attributes:
        attempts: The sources in the order in which they were tried.
    """

    def __init__(self, attempts: tuple[Attempt, ...]) -> None:
        super().__init__(attempts)
        self.attempts = attempts

    def __str__(self) -> str:
        tried = "; ".join(str(attempt) for attempt in self.attempts)
        return (
            "No AWS credentials were found. Give keys (awsAccessKeyId and awsSecretKey), name a profile "
            "(awsProfile), or make one of botocore's sources available on driver and executors. "
            f"Tried: {tried}."
        )
