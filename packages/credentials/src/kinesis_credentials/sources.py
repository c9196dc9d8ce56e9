"""Sources of keys outside botocore's chain: explicit keys, the instance metadata, and the user's provider class."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from attrs import define, field
from botocore.exceptions import BotoCoreError
from botocore.session import Session
from botocore.utils import InstanceMetadataFetcher, resolve_imds_endpoint_mode

from kinesis_credentials.advice import Advice
from kinesis_credentials.chain import explain_no_metadata
from kinesis_credentials.credentials import REFRESH_EARLY, Now
from kinesis_credentials.errors import Attempt, CredentialsError, ProviderClassError, SourceUnavailableError
from kinesis_credentials.failures import LOOKUP_ERRORS, ErrorResponse, explain, is_passing, redact, unusable
from kinesis_credentials.keys import Keys, MalformedKeysError
from kinesis_credentials.specs import ProviderClass, StaticKeys

METADATA_ATTEMPTS = 3
"""
At least this many attempts. botocore makes one attempt of a second, because in a chain the instance is only a guess. Here
the user asked for it.
"""
LIVE_FOR = timedelta(minutes=10)
"""How long keys of a botocore credentials object are used: it returns keys that are valid for 10 minutes at least."""


@define
class GivenKeys:
    """Explicit keys of the user."""

    spec: StaticKeys
    name: str = "keys"

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return (Attempt(self.name, "given by the user"),)

    def fetch(self) -> Keys:
        return Keys(self.spec.access_key_id, self.spec.secret_key, self.spec.session_token)


@define
class InstanceMetadata:
    """The role of the EC2 instance, from IMDSv2."""

    session: Session
    name: str = "iam-role"

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return (Attempt(self.name, "served"),)

    def fetch(self) -> Keys:
        try:
            fetcher = self._make_fetcher()
        except LOOKUP_ERRORS as error:
            raise unusable(error) from None
        try:
            found = fetcher.retrieve_iam_role_credentials()
        except LOOKUP_ERRORS as error:
            raise self._fail(explain(error), ErrorResponse.of(error).code) from None
        if not found:
            raise self._fail(explain_no_metadata(), "NoInstanceProfile")
        try:
            return Keys.read(
                {
                    "AccessKeyId": found["access_key"],
                    "SecretAccessKey": found["secret_key"],
                    "SessionToken": found["token"],
                    "Expiration": found["expiry_time"],
                }
            )
        except MalformedKeysError as error:
            raise self._fail(f"in its response {error}", "MalformedResponse") from None

    def _make_fetcher(self) -> InstanceMetadataFetcher:
        get = self.session.get_config_variable
        return InstanceMetadataFetcher(
            timeout=get("metadata_service_timeout"),
            num_attempts=max(get("metadata_service_num_attempts"), METADATA_ATTEMPTS),
            user_agent=self.session.user_agent(),
            config={
                "ec2_metadata_service_endpoint": get("ec2_metadata_service_endpoint"),
                "ec2_metadata_service_endpoint_mode": resolve_imds_endpoint_mode(self.session),
                "ec2_credential_refresh_window": REFRESH_EARLY.total_seconds(),
                "ec2_metadata_v1_disabled": True,
            },
        )

    def _fail(self, reason: str, code: str) -> SourceUnavailableError:
        return SourceUnavailableError(
            "The instance profile gave no credentials, and no other source is tried.",
            code,
            attempts=(Attempt(self.name, reason),),
            advice=Advice.USE_ANOTHER_SOURCE,
        )


@define
class UserClass:
    """An instance of the user's provider class, created once per process."""

    spec: ProviderClass
    now: Now
    _provider: Any = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        return self.spec.class_path

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return (Attempt(self.name, "served"),)

    def fetch(self) -> Keys:
        try:
            if self._provider is None:
                self._provider = self._make()
            response = self._provider.get_credentials()
            if hasattr(response, "get_frozen_credentials"):
                response = self._freeze(response)
        except CredentialsError:
            raise
        except Exception as error:  # noqa: BLE001 # any error of a user's class may hold a secret in its text
            raise self._fail(error) from None
        return self._read(response)

    def _make(self) -> Any:
        cls = self._import()
        if not isinstance(cls, type):
            raise ProviderClassError(f"'{self.name}' is not a class. {_CONTRACT}", "ProviderClass")
        if not callable(getattr(cls, "get_credentials", None)):
            raise ProviderClassError(
                f"The class {self.name} has no method get_credentials(). {_CONTRACT}", "ProviderClass"
            )
        return cls() if self.spec.param is None else cls(self.spec.param)

    def _import(self) -> Any:
        module, _, name = self.name.rpartition(".")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, TypeError, ValueError) as error:  # ValueError for misplaced dots
            raise ProviderClassError(
                f"The credential provider class '{self.name}' cannot be imported: {self._describe(error)}.",
                type(error).__name__,
                advice=Advice.MOVE_CLASS if module == "__main__" else Advice.GIVE_CLASS,
            ) from None

    def _freeze(self, live: Any) -> dict[str, Any]:
        frozen = live.get_frozen_credentials()
        return {
            "AccessKeyId": frozen.access_key,
            "SecretAccessKey": frozen.secret_key,
            "SessionToken": frozen.token,
            "Expiration": self.now() + LIVE_FOR,
        }

    def _read(self, response: object) -> Keys:
        if not isinstance(response, Mapping):
            what = f"an object of the type {type(response).__name__}"
        else:
            try:
                return Keys.read(response)
            except MalformedKeysError as error:
                what = f"a mapping in which {error}"
        raise ProviderClassError(
            f"{self.name}.get_credentials() returned {what}. {_CONTRACT}", "ProviderClass"
        )

    def _fail(self, error: Exception) -> CredentialsError:
        kind = SourceUnavailableError if _is_passing(error) else ProviderClassError
        return kind(
            f"The credential provider class {self.name} failed: {self._describe(error)}.",
            ErrorResponse.of(error).code,
        )

    def _describe(self, error: Exception) -> str:
        """Return the error's name and text without the parameter or pieces of it, which is a secret."""
        text = f"{type(error).__name__}: {error}".rstrip(".")
        return redact(text, self.spec.param) if self.spec.param else text


_CONTRACT = (
    "It must be a class with a method get_credentials() that returns a mapping with AccessKeyId, SecretAccessKey and, "
    "for temporary keys, SessionToken and Expiration (an aware datetime or ISO 8601), or credentials of botocore."
)


def _is_passing(error: Exception) -> bool:
    return isinstance(error, OSError) or (isinstance(error, BotoCoreError) and is_passing(error))
