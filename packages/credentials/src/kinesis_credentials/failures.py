"""Turns botocore's errors during a search for credentials into the errors of this package."""

from __future__ import annotations

from collections.abc import Sequence

import botocore.exceptions as boto

from kinesis_credentials.errors import Attempt, SourceFailedError, SourceUnavailableError

_PASSING_CODES = frozenset(
    {
        "Throttling",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TooManyRequestsException",
        "ServiceUnavailable",
        "InternalFailure",
        "IDPCommunicationError",
    }
)
_METADATA_SERVICES = ("iam-role", "container-role")

_LEAST_HIDDEN = 5
"""Shorter pieces of a secret are not hidden: they occur in any text and reveal nothing."""

LOOKUP_ERRORS = (boto.BotoCoreError, boto.ClientError, OSError, ValueError, KeyError, RuntimeError)
"""
The errors of botocore's sources. A malformed response is a ValueError or KeyError, expired credentials are a RuntimeError.
"""


def translate(error: Exception, source: str, attempts: Sequence[Attempt] = ()) -> SourceFailedError:
    """Return this package's error for *error*, one of `LOOKUP_ERRORS` that *source* raised after *attempts*."""
    code, request_id = describe_response(error)
    reason = _explain(error)
    kind = SourceUnavailableError if is_passing(error, source) else SourceFailedError
    tried = (*attempts, Attempt(source, reason)) if attempts else ()
    return kind(f"AWS credentials could not be obtained from {source}: {reason}.", code, request_id, tried)


def is_passing(error: Exception, source: str = "") -> bool:
    """Return whether the same source may succeed later."""
    if isinstance(error, boto.ClientError):
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return status >= 500 or describe_response(error)[0] in _PASSING_CODES
    if isinstance(error, (boto.CredentialRetrievalError, boto.MetadataRetrievalError)):
        return source in _METADATA_SERVICES
    return isinstance(error, (boto.HTTPClientError, boto.ConnectionError, ConnectionError, TimeoutError))


def describe_response(error: Exception) -> tuple[str, str]:
    """Return AWS's error code and request id, or the exception's name and "" when there was no response."""
    if not isinstance(error, boto.ClientError):
        return type(error).__name__, ""
    code = str(error.response.get("Error", {}).get("Code", "")) or "Unknown"
    return code.rpartition("#")[2], str(error.response.get("ResponseMetadata", {}).get("RequestId", ""))


def explain_response(error: boto.ClientError) -> str:
    """Return the text of AWS's error, with code, status and request id."""
    code, request_id = describe_response(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    message = str(error.response.get("Error", {}).get("Message", "")).rstrip(".")
    return f"{code} (status {status}, request id {request_id or 'none'}): {message}"


def _explain(error: Exception) -> str:
    if isinstance(error, boto.ClientError):
        action = error.operation_name
        trust = "; the role's trust policy must allow the IAM action sts:" + action
        return f"{action} failed: {explain_response(error)}{trust if action.startswith('AssumeRole') else ''}"
    if isinstance(error, (boto.BotoCoreError, OSError)):
        return safe_message(error).rstrip(".")
    if isinstance(error, ValueError):
        # The error's text is left out because it may hold the keys.
        return "a credential process or service gave a response that is not JSON"
    if isinstance(error, KeyError):
        return f"the response has no {error}"
    return str(error).rstrip(".")


def safe_message(error: Exception) -> str:
    """
    Return the text of *error*, or only the wrapped exception's name for an error that botocore has no class for.

    Such an error may come from http.client. Its text shows the header that was not sent, and so a token.
    """
    if type(error) is boto.HTTPClientError:
        wrapped = error.kwargs.get("error")
        return f"An HTTP client raised {type(wrapped).__name__}"
    return str(error)


def redact(text: str, secret: str) -> str:
    """
    Return *text* with asterisks for *secret* and for each piece of it.

    An error may quote only a part of a secret, such as the password of a user and password.
    """
    shown, index = "", 0
    least = min(_LEAST_HIDDEN, len(secret))
    while index < len(text):
        end = index
        while end < len(text) and text[index : end + 1] in secret:
            end += 1
        is_piece = end - index >= least
        shown += "****" if is_piece else text[index]
        index = end if is_piece else index + 1
    return shown
