"""Turns botocore's errors during a search for credentials into the errors of this package."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import botocore.exceptions as boto
from attrs import frozen
from botocore.parsers import ResponseParserError

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

_USER = re.compile(r"""(?<![^\s"'])(?!/)[^\s"']*@""")
"""The start of a URL up to its host. A path of a file may have such a character, too, and stays."""
_QUERY = re.compile(r"""(?<=://)([^\s"'?#]*)[?#][^\s"']*""")

MALFORMED = (ResponseParserError, ValueError, KeyError, TypeError, AttributeError, RuntimeError)
"""The errors of botocore over a malformed response. Their texts may hold keys."""
LOOKUP_ERRORS = (boto.BotoCoreError, boto.ClientError, OSError, *MALFORMED)
"""The errors of botocore's sources. Expired credentials are a RuntimeError."""


@frozen
class ErrorResponse:
    """What AWS says in a response that is an error."""

    code: str
    """AWS's code, which some services put behind a namespace and '#'. "Unknown" if there is none."""
    status: int
    request_id: str
    message: str

    @staticmethod
    def of(error: Exception) -> ErrorResponse:
        """Return the response in *error*. Without one the code is the name of the exception."""
        if isinstance(error, boto.ClientError):
            return ErrorResponse.read(error.response)
        return ErrorResponse(type(error).__name__, 0, "", "")

    @staticmethod
    def read(response: Mapping[str, Any]) -> ErrorResponse:
        """Return the facts of *response*, as botocore has parsed it."""
        error, metadata = response.get("Error", {}), response.get("ResponseMetadata", {})
        return ErrorResponse(
            str(error.get("Code", "")).rpartition("#")[2] or "Unknown",
            int(metadata.get("HTTPStatusCode", 0)),
            str(metadata.get("RequestId", "")),
            str(error.get("Message", "")).rstrip("."),
        )

    def __str__(self) -> str:
        return f"{self.code} (status {self.status}, request id {self.request_id or 'none'}): {self.message}"


def translate(error: Exception, source: str, attempts: Sequence[Attempt] = ()) -> SourceFailedError:
    """Return this package's error for *error*, one of `LOOKUP_ERRORS` that *source* raised after *attempts*."""
    response, reason = ErrorResponse.of(error), explain(error)
    kind = SourceUnavailableError if is_passing(error, source) else SourceFailedError
    tried = (*attempts, Attempt(source, reason)) if attempts else ()
    return kind(
        f"AWS credentials could not be obtained from {source}: {reason}.",
        response.code,
        response.request_id,
        tried,
    )


def unusable(error: Exception) -> SourceFailedError:
    """Return this package's error for *error*, by which botocore refuses a value of the AWS configuration."""
    reason = safe_message(error).rstrip(".")
    return SourceFailedError(f"The AWS configuration cannot be used: {reason}.", type(error).__name__)


def is_passing(error: Exception, source: str = "") -> bool:
    """Return whether the same source may succeed later."""
    if isinstance(error, boto.ClientError):
        response = ErrorResponse.of(error)
        return response.status >= 500 or response.code in _PASSING_CODES
    if isinstance(error, (boto.CredentialRetrievalError, boto.MetadataRetrievalError)):
        return source in _METADATA_SERVICES
    return isinstance(
        error,
        (boto.HTTPClientError, boto.ConnectionError, ConnectionError, TimeoutError, ResponseParserError),
    )


def explain(error: Exception) -> str:
    """Return why a source failed with *error*, one of `LOOKUP_ERRORS`, without keys."""
    if isinstance(error, boto.ClientError):
        action = error.operation_name
        trust = "; the role's trust policy must allow the IAM action sts:" + action
        return f"{action} failed: {ErrorResponse.of(error)}{trust if action.startswith('AssumeRole') else ''}"
    if isinstance(error, (boto.BotoCoreError, OSError)):
        return safe_message(error).rstrip(".")
    if isinstance(error, ValueError):
        # The error's text is left out because it may hold the keys.
        return "a credential process or service gave a response that is not JSON"
    if isinstance(error, KeyError):
        return f"the response has no {error}"
    if isinstance(error, (ResponseParserError, TypeError, AttributeError)):
        return "a service gave a malformed response"
    return str(error).rstrip(".")


def safe_message(error: Exception) -> str:
    """
    Return the text of *error* without the user, password and query of a URL.

    For an error that botocore has no class for, return only the wrapped exception's name. It may come from http.client, whose text
    shows the header that was not sent, and so a token.
    """
    if type(error) is boto.HTTPClientError:
        wrapped = error.kwargs.get("error")
        return f"An HTTP client raised {type(wrapped).__name__}"
    return _USER.sub("****@", _QUERY.sub(r"\1", str(error)))


def cause_of(error: Exception) -> Exception | None:
    """Return *error* as the cause of another one; None if its text may hold a secret, which a traceback would show."""
    return error if safe_message(error) == str(error) else None


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
