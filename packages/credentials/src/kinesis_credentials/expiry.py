"""When AWS no longer takes the keys: other keys, and the request again, where the source has any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore.client import BaseClient

from kinesis_credentials.credentials import RenewableCredentials

STALE_KEYS = frozenset(
    {"ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidClientTokenId"}
)
"""AWS's codes for keys that have expired, or were taken back: other keys of the same source may be good."""
MAX_ATTEMPTS = 3
_VERSION = "KinesisCredentialsVersion"


Retried = Callable[[str, str, int], None]
"""Is told of a call that is made again: its action, AWS's code, and how often it was made."""


def renew_expired(
    client: BaseClient, credentials: RenewableCredentials, on_retry: Retried = lambda *_: None
) -> None:
    """
    Let *client*, which signs with *credentials*, renew them when AWS says that they are no good, and try again.

    *on_retry* is told. What AWS says is raised as ever when the source has no other keys, and a `CredentialsError` when it fails.
    """

    def note_version(request: Any, **_: Any) -> None:
        request.context[_VERSION] = credentials.version

    def renew(
        response: Any, attempts: int, request_dict: Mapping[str, Any], operation: Any, **_: Any
    ) -> int | None:
        code = "" if response is None else _read_code(response)
        if attempts >= MAX_ATTEMPTS or code not in STALE_KEYS:
            return None
        # Keys that changed since the request was signed are the other ones already.
        if not credentials.renew(request_dict["context"].get(_VERSION, 0)):
            return None
        on_retry(operation.name, code, attempts)
        return 0

    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register(f"before-sign.{service}", note_version)
    client.meta.events.register_first(f"needs-retry.{service}", renew)  # type: ignore[arg-type] # the stubs know no answers


def _read_code(response: tuple[Any, Mapping[str, Any]]) -> str:
    return str(response[1].get("Error", {}).get("Code", "")).rpartition("#")[2]
