"""
Credentials from botocore's chain.

The sources are tried here one by one, so that an error can name each of them and why it gave no credentials.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import botocore.credentials
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.session import Session

from kinesis_credentials.credentials import RenewableCredentials
from kinesis_credentials.errors import Attempt, NoCredentialsError, SourceFailedError
from kinesis_credentials.failures import LOOKUP_ERRORS, translate, unusable
from kinesis_credentials.keys import UNSIGNABLE, is_signable

_REASONS = {
    "env": "AWS_ACCESS_KEY_ID is not set",
    "assume-role": "profile '{profile}' has no role_arn",
    "assume-role-with-web-identity": "AWS_WEB_IDENTITY_TOKEN_FILE is not set",
    "sso": "profile '{profile}' has no SSO settings",
    "shared-credentials-file": "no keys of profile '{profile}' in {credentials_file}",
    "login": "profile '{profile}' has no login session",
    "custom-process": "profile '{profile}' has no credential_process",
    "config-file": "no keys of profile '{profile}' in {config_file}",
    "ec2-credentials-file": "AWS_CREDENTIAL_FILE is not set",
    "boto-config": "no keys in a boto configuration file",
    "container-role": "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set",
}
_PARTS = (
    ("access key id", "AWS_ACCESS_KEY_ID"),
    ("secret key", "AWS_SECRET_ACCESS_KEY"),
    ("session token", "AWS_SESSION_TOKEN"),
)
"""The parts of keys in botocore's order, each with its environment variable."""
_OUTSIDE_PROFILES = ("ec2-credentials-file", "boto-config", "container-role", "iam-role")


class ChainCredentials(RenewableCredentials):
    """
    Credentials of the first source in botocore's chain that has any. botocore refreshes them 10 to 15 minutes early.

    *open_session* returns a new session with the chain each time, so that a renewal reads the AWS configuration again.
    """

    def __init__(self, open_session: Callable[[], Session], *, only_profile: bool) -> None:
        super().__init__("chain")
        self._open_session = open_session
        self._only_profile = only_profile
        self._lock = threading.Lock()
        self._found: Credentials | None = None
        self._frozen: ReadOnlyCredentials | None = None
        self._attempts: tuple[Attempt, ...] = ()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return (*self._attempts, Attempt(self.method, "served"))

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        found = self._found
        if found is None:
            with self._lock:
                found = self._found or self._walk()
        return self._freeze(found)

    def renew(self, version: int) -> bool:
        with self._lock:
            if self.version == version:
                self._walk()
        if self._found is not None:
            self._freeze(self._found)
        return self.version != version

    def _freeze(self, found: Credentials) -> ReadOnlyCredentials:
        try:
            frozen = found.get_frozen_credentials()
        except LOOKUP_ERRORS as error:
            raise translate(error, self.method, self._attempts) from None
        with self._lock:
            if frozen != self._frozen:
                self._check(frozen)
                self._frozen = frozen
                self.version += 1
        return frozen

    def _check(self, frozen: ReadOnlyCredentials) -> None:
        values = (frozen.access_key, frozen.secret_key, frozen.token)
        for (part, variable), value in zip(_PARTS, values, strict=True):
            if value is not None and not is_signable(value):
                what = variable if self.method == "env" else f"The {part} that {self.method} gives"
                raise SourceFailedError(
                    f"{what} {UNSIGNABLE}, such as a newline at its end; set it again without it.",
                    "MalformedKeys",
                    attempts=self._attempts,
                )

    def _walk(self) -> Credentials:
        session = self._open_session()
        tried: list[Attempt] = []
        try:
            providers = botocore.credentials.create_credential_resolver(session).providers
        except LOOKUP_ERRORS as error:
            raise unusable(error) from None
        for provider in providers:
            source = str(provider.METHOD)
            if self._only_profile and source in _OUTSIDE_PROFILES:
                continue
            try:
                found: Credentials | None = provider.load()
            except LOOKUP_ERRORS as error:
                raise translate(error, source, tried) from None
            if found is not None:
                self.method, self._attempts, self._found = source, tuple(tried), found
                return found
            tried.append(Attempt(source, _explain(source, session)))
        raise NoCredentialsError(tried)


def _explain(source: str, session: Session) -> str:
    if source == "iam-role":
        return explain_no_metadata()
    facts = {
        "profile": session.profile or "default",
        "credentials_file": session.get_config_variable("credentials_file"),
        "config_file": session.get_config_variable("config_file"),
    }
    return _REASONS.get(source, "it had no credentials").format_map(facts)


def explain_no_metadata() -> str:
    """Return why the instance metadata gave no credentials."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return "AWS_EC2_METADATA_DISABLED is true"
    return "no instance metadata service responded with a role"
