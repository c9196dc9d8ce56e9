"""Turns what botocore raises into the errors of this package, with what a user can do about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import botocore.exceptions as boto

from kinesis_core.aws.permissions import needed
from kinesis_core.errors import (
    AccessDeniedError,
    DryRunSucceededError,
    InvalidRequestError,
    IteratorExpiredError,
    MalformedResponseError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
    TableNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_credentials import CredentialsError, safe_message

CALL_ERRORS = (boto.ClientError, boto.BotoCoreError, CredentialsError)
"""What a call through botocore raises; the last of them while it is signed, when keys are needed anew."""

MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError)
"""What botocore or we stumble over in a body that is not an answer; botocore leaves out what a body does not have."""

_BY_CODE: Mapping[str, type[ServiceError]] = {
    "ResourceNotFoundException": StreamNotFoundError,
    "ExpiredIteratorException": IteratorExpiredError,
    "ProvisionedThroughputExceededException": ThrottledError,
    "LimitExceededException": ThrottledError,
    "ThrottlingException": ThrottledError,
    "Throttling": ThrottledError,
    "KMSThrottlingException": ThrottledError,
    "InvalidArgumentException": InvalidRequestError,
    "ValidationException": InvalidRequestError,
    "AccessDeniedException": AccessDeniedError,
    "KMSAccessDeniedException": AccessDeniedError,
    "UnrecognizedClientException": AccessDeniedError,
    "InvalidClientTokenId": AccessDeniedError,
    "InvalidSignatureException": AccessDeniedError,
    "MissingAuthenticationTokenException": AccessDeniedError,
    "IncompleteSignature": AccessDeniedError,
    "IncompleteSignatureException": AccessDeniedError,
    "ExpiredTokenException": AccessDeniedError,
    "OptInRequired": AccessDeniedError,
    "ResourceInUseException": ResourceInUseError,
    "DryRunOperationException": DryRunSucceededError,
    "InternalFailureException": UnavailableError,
    "InternalFailure": UnavailableError,
}

_BY_CODE_OF_DYNAMODB: Mapping[str, type[ServiceError]] = {
    **_BY_CODE,
    "ResourceNotFoundException": TableNotFoundError,
    "RequestLimitExceeded": ThrottledError,
}

_ADVICE: Mapping[type[ServiceError], str] = {
    StreamNotFoundError: "Check streamName or streamARN, region and account (or endpointUrl).",
    AccessDeniedError: "Allow the IAM action {needed}, or give other credentials.",
    ThrottledError: "Other consumers use up the quota; give the stream more shards or them fewer calls.",
    UnavailableError: "Check endpointUrl, region, network and proxy.",
}
_ADVICE_ON_SIGNATURES = "Check the secret key, and the clock of the machine that made the call: it must be right to within 5 minutes."
_ADVICE_BY_CODE: Mapping[str, str] = {
    "ExpiredTokenException": (
        "The source of the credentials has no newer ones. Keys that are given are never refreshed: give new ones, or a "
        "source that refreshes itself, such as stsRoleArn, awsProfile or the default chain."
    ),
    "InvalidSignatureException": _ADVICE_ON_SIGNATURES,
    "IncompleteSignature": _ADVICE_ON_SIGNATURES,
    "IncompleteSignatureException": _ADVICE_ON_SIGNATURES,
}
_ADVICE_ON_DYNAMODB: Mapping[type[ServiceError], str] = {
    TableNotFoundError: "Check dynamodbTableName, region and account.",
    AccessDeniedError: _ADVICE[AccessDeniedError],
    ThrottledError: "Raise the table's write capacity, or make it on-demand.",
    UnavailableError: "Check dynamodbEndpointUrl, region, network and proxy.",
}


def is_retryable(code: str) -> bool:
    """Return whether a record that PutRecords refused with *code* may be taken later."""
    return _BY_CODE.get(code, UnavailableError).retryable


def is_final(code: str) -> bool:
    """Return whether *code* is about the stream or what was asked of it, so that other keys would change nothing."""
    return _BY_CODE.get(code.rpartition("#")[2], AccessDeniedError) is not AccessDeniedError


def translate(action: str, where: str, error: Exception, service: str = "Kinesis") -> ServiceError:
    """
    Return the error of ours for one of `CALL_ERRORS`, raised while calling *action* of *service*, Kinesis or DynamoDB.

    *where* says which stream and shard, or which table, was meant.
    """
    if isinstance(error, boto.ClientError):
        return _from_response(action, where, error.response, service)
    if isinstance(error, CredentialsError):
        return _from_credentials(action, where, error, service)
    kind = (
        UnavailableError if isinstance(error, (boto.HTTPClientError, boto.ConnectionError)) else ServiceError
    )
    if isinstance(error, boto.ParamValidationError):
        kind = InvalidRequestError
    code = type(error).__name__
    return kind(_message(action, where, kind, f"{code}: {safe_message(error)}", code, service), code=code)


def malformed(action: str, where: str, error: Exception, service: str = "Kinesis") -> MalformedResponseError:
    """Return the error of ours for one of `MALFORMED`, raised over the answer to *action*."""
    option = "endpointUrl" if service == "Kinesis" else "dynamodbEndpointUrl"
    return MalformedResponseError(
        f"{service} {action} answered with what lacks or garbles {error}; is {option} that of {service}? [{where}]",
        code="MalformedResponse",
    )


def _from_credentials(action: str, where: str, error: CredentialsError, service: str) -> ServiceError:
    """Return *error* as one of the call that was to be signed; passing trouble is retried like the service's own."""
    kind = UnavailableError if error.retryable else AccessDeniedError
    code = getattr(error, "code", "") or type(error).__name__
    message = f"{service} {action} failed for want of credentials. {error} [{where}]"
    return kind(message, code=code, request_id=getattr(error, "request_id", ""))


def _from_response(action: str, where: str, response: Mapping[str, Any], service: str) -> ServiceError:
    code = str(response.get("Error", {}).get("Code", "")) or "Unknown"
    metadata = response.get("ResponseMetadata", {})
    request_id = str(metadata.get("RequestId", ""))
    status = int(metadata.get("HTTPStatusCode", 0))
    known = _BY_CODE if service == "Kinesis" else _BY_CODE_OF_DYNAMODB
    kind = known.get(code.rpartition("#")[2], UnavailableError if status >= 500 else ServiceError)
    said = response.get("Error", {}).get("Message", "")
    what = f"{code} (status {status}, request id {request_id or 'none'}): {said}"
    return kind(_message(action, where, kind, what, code, service), code=code, request_id=request_id)


def _message(action: str, where: str, kind: type[ServiceError], what: str, code: str, service: str) -> str:
    known = _ADVICE if service == "Kinesis" else _ADVICE_ON_DYNAMODB
    code = code.rpartition("#")[2]
    advice = _ADVICE_BY_CODE.get(code) or known.get(kind, "")
    advice = advice.format(needed=needed(service.lower(), action, code))
    return f"{service} {action} failed: {what.rstrip('.')}. {advice} [{where}]".replace("  ", " ")
