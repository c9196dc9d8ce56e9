"""Renews keys that AWS no longer accepts, and repeats the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore.client import BaseClient

from kinesis_credentials.credentials import RenewableCredentials
from kinesis_credentials.failures import ErrorResponse

STALE_KEYS = frozenset(
    {"ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidClientTokenId"}
)
"""AWS's codes for keys that have expired or were revoked. The same source may have valid keys."""
MAX_ATTEMPTS = 3
_VERSION = "KinesisCredentialsVersion"


Retried = Callable[[str, str, int], None]
"""Called with each call that is repeated: its action, AWS's code, and how often it was made."""


def renew_expired(
    client: BaseClient, credentials: RenewableCredentials, on_retry: Retried = lambda *_: None
) -> None:
    """
    Make *client*, which signs with *credentials*, renew them when AWS does not accept them, and repeat the call.

    *on_retry* is called before each repetition. If the source has no other keys, AWS's error is raised as usual; if the
    source fails, its `CredentialsError` is raised.
    """

    def note_version(request: Any, **_: Any) -> None:
        request.context[_VERSION] = credentials.version

    def renew(
        response: Any, attempts: int, request_dict: Mapping[str, Any], operation: Any, **_: Any
    ) -> int | None:
        code = "" if response is None else ErrorResponse.read(response[1]).code
        if attempts >= MAX_ATTEMPTS or code not in STALE_KEYS:
            return None
        # If the keys changed since the request was signed, no renewal is needed.
        if not credentials.renew(request_dict["context"].get(_VERSION, 0)):
            return None
        on_retry(operation.name, code, attempts)
        return 0

    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register(f"before-sign.{service}", note_version)
    client.meta.events.register_first(f"needs-retry.{service}", renew)  # type: ignore[arg-type] # the stubs have no handlers with results
