"""Fetches keys by assuming a role through STS."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from attrs import define, field
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from kinesis_credentials.advice import Advice
from kinesis_credentials.credentials import RenewableCredentials
from kinesis_credentials.endpoints import BadUrlError, create_client, find_endpoint_region, verify_url
from kinesis_credentials.errors import (
    Attempt,
    CredentialsError,
    RoleRefusedError,
    SourceFailedError,
    SourceUnavailableError,
    for_role,
)
from kinesis_credentials.expiry import renew_expired
from kinesis_credentials.failures import MALFORMED, ErrorResponse, is_passing, safe_message, unusable
from kinesis_credentials.keys import Keys, MalformedKeysError
from kinesis_credentials.specs import AssumeRole

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 5, 15
_GLOBAL_STS, _GLOBAL_STS_REGION = "sts.amazonaws.com", "us-east-1"


@define
class Role:
    """A role that is assumed with the credentials of *base*."""

    spec: AssumeRole
    base: Session
    base_credentials: RenewableCredentials
    """The credentials that *base* signs with."""
    _client: Any = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        return self.spec.role_arn

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return (*self.base_credentials.attempts, Attempt(self.name, "assumed"))

    def fetch(self) -> Keys:
        request = {"RoleArn": self.spec.role_arn, "RoleSessionName": self.spec.session_name}
        if self.spec.external_id is not None:
            request["ExternalId"] = self.spec.external_id
        try:
            if self._client is None:
                self._client = self._make_client()
            return Keys.read(self._client.assume_role(**request).get("Credentials", {}))
        except CredentialsError as error:
            raise for_role(error, self.name) from error
        except ClientError as error:
            raise self._refuse(error) from error
        except BotoCoreError as error:
            kind = SourceUnavailableError if is_passing(error) else SourceFailedError
            raise kind(
                f"STS could not be asked to let {self.name} be assumed: {safe_message(error)}".rstrip("."),
                ErrorResponse.of(error).code,
            ) from None
        except MalformedKeysError as error:
            raise SourceUnavailableError(
                f"STS AssumeRole for {self.name} gave a response in which {error}.",
                "MalformedResponse",
                advice=Advice.CHECK_STS,
            ) from None
        except BadUrlError as error:
            raise SourceFailedError(
                f"STS could not be asked to let {self.name} be assumed: its URL {error}",
                "InvalidEndpoint",
                advice=Advice.CHECK_STS,
            ) from None
        except MALFORMED as error:
            if self._client is None:
                raise unusable(error) from None
            raise SourceUnavailableError(
                f"STS AssumeRole for {self.name} gave a malformed response ({type(error).__name__}).",
                "MalformedResponse",
                advice=Advice.CHECK_STS,
            ) from None

    def _make_client(self) -> Any:
        url = self.spec.sts_endpoint_url
        # Older releases of botocore call the global endpoint: far away, and one more point of failure.
        self.base.set_config_variable("sts_regional_endpoints", "regional")
        config = Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"total_max_attempts": 3, "mode": "standard"},
        )
        client = create_client(self.base, "sts", url, region_name=_find_region(url), config=config)
        renew_expired(client, self.base_credentials)
        return client

    def _refuse(self, error: ClientError) -> CredentialsError:
        response = ErrorResponse.of(error)
        code, request_id = response.code, response.request_id
        what = f"STS AssumeRole for {self.name} failed: {response}."
        if is_passing(error):
            return SourceUnavailableError(what, code, request_id)
        attempts = self.base_credentials.attempts
        if code == "RegionDisabledException":
            return RoleRefusedError(what, code, request_id, attempts, Advice.CHANGE_STS)
        external = " with this external id" if self.spec.external_id is not None else ""
        advice = (
            f"Allow the IAM action sts:AssumeRole on {self.name} to the base credentials, and let the role's trust "
            f"policy name them{external}."
        )
        return RoleRefusedError(what, code, request_id, attempts, advice)


def _find_region(url: str | None) -> str | None:
    """Return the region in the URL of STS; None when the session's region is right."""
    if url is None:
        return None
    verify_url(url)
    return _GLOBAL_STS_REGION if urlsplit(url).hostname == _GLOBAL_STS else find_endpoint_region(url)
