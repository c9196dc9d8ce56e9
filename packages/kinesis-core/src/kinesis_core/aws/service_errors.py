"""Turns errors of botocore into errors of this package, with advice on what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import botocore.exceptions as boto
import msgspec

from kinesis_core.aws.permissions import needed
from kinesis_core.aws.retry import READY_TIMEOUT_S
from kinesis_core.errors import (
    AccessDeniedError,
    DryRunSucceededError,
    InvalidRequestError,
    IteratorExpiredError,
    MalformedResponseError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
    StreamNotReadyError,
    TableNotFoundError,
    ThrottledError,
    UnavailableError,
    WireFormatError,
)
from kinesis_credentials import Advice, CredentialsError, safe_message
from kinesis_credentials.failures import ErrorResponse


class NotCborError(boto.BotoCoreError):
    """The endpoint does not speak CBOR. `translate` makes a `WireFormatError` of it."""

    fmt = "{endpoint_url} does not speak CBOR ({action} returned {returned})"


CALL_ERRORS = (boto.ClientError, boto.BotoCoreError, CredentialsError)
"""Errors of a call through botocore. A `CredentialsError` comes up while the call is signed, if keys must be renewed."""

_STATE = re.compile(r"\bstate (CREATING|UPDATING|DELETING)\b")
"""Of a stream, in the text of a `ResourceInUseException`. Without it a consumer or a subscription is in use."""
_NO_METADATA: Mapping[str, Any] = {}
MALFORMED = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RuntimeError,
    msgspec.DecodeError,
)
"""Errors of botocore and of our parsers over a malformed body. botocore leaves out fields that a body lacks."""

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

_ADVICE: Mapping[type[ServiceError], Advice | str] = {
    StreamNotReadyError: (
        f"Calls wait for that for up to {READY_TIMEOUT_S:.0f} s. Check its status, then start again."
    ),
    StreamNotFoundError: Advice.CHECK_STREAM,
    AccessDeniedError: "Allow the IAM action {needed}, or use other credentials.",
    ThrottledError: "Other consumers use up the quota. Add shards, or let the other consumers make fewer calls.",
    UnavailableError: Advice.CHECK_NETWORK,
}
_ADVICE_ON_SIGNATURES = "Check the secret key, and the clock of the machine that made the call: it must be right to within 5 minutes."
_ADVICE_ON_OTHER_CODES = "AWS code {code} is not retried. See https://docs.aws.amazon.com/kinesis/latest/APIReference/CommonErrors.html"
_UNKNOWN_CA = "CERTIFICATE_VERIFY_FAILED"
"""OpenSSL's code. botocore only says SSLError, which may have other causes."""
ADVICE_BY_CODE: Mapping[str, Advice | str] = {
    _UNKNOWN_CA: (
        "The certificate of the endpoint, or of a proxy, is from an authority (CA) that this machine does not trust. Set AWS_CA_BUNDLE to "
        "a file with the certificate of the CA, on every machine that makes calls."
    ),
    "ExpiredTokenException": Advice.RENEW_KEYS,
    "KMSDisabledException": "The stream's KMS key is disabled: enable it, then restart.",
    "KMSNotFoundException": "The stream's KMS key does not exist: restore it, or encrypt the stream with another key.",
    "KMSInvalidStateException": "The stream's KMS key cannot be used in its present state: cancel its deletion, then restart.",
    "KMSOptInRequired": "The account has no access to KMS: subscribe it to the service, then restart.",
    "InvalidSignatureException": _ADVICE_ON_SIGNATURES,
    "IncompleteSignature": _ADVICE_ON_SIGNATURES,
    "IncompleteSignatureException": _ADVICE_ON_SIGNATURES,
}
"""What to do about a code, where the advice of its class is not enough. The reference page of errors lists it."""
_ADVICE_ON_DYNAMODB: Mapping[type[ServiceError], Advice | str] = {
    TableNotFoundError: Advice.CHECK_TABLE,
    AccessDeniedError: _ADVICE[AccessDeniedError],
    ThrottledError: "Raise the table's read or write capacity, or make it on-demand.",
    UnavailableError: Advice.CHECK_TABLES_NETWORK,
}


def class_of(code: str) -> type[ServiceError]:
    """Return the class of errors of Kinesis with *code*."""
    return _BY_CODE.get(code, ServiceError)


def is_retryable(code: str) -> bool:
    """Return whether a record that PutRecords refused with *code* may be accepted later."""
    return _BY_CODE.get(code, UnavailableError).retryable


def is_final(code: str) -> bool:
    """Return whether *code* concerns the stream or the request, so that other credentials would change nothing."""
    return _BY_CODE.get(code, AccessDeniedError) is not AccessDeniedError


def translate(
    action: str, where: Mapping[str, str], error: Exception, service: str = "Kinesis"
) -> ServiceError:
    """
    Return our error for one of `CALL_ERRORS`, raised by a call of *action* of *service*, Kinesis or DynamoDB.

    *where* names the stream and the shard, or the table.

    Raises:
        MemoryError: botocore reports it as a failed call, which would be repeated.
    """
    if isinstance(error, boto.HTTPClientError) and isinstance(
        cause := error.kwargs.get("error"), MemoryError
    ):
        raise cause
    if isinstance(error, boto.ClientError):
        return _from_response(action, where, ErrorResponse.of(error), service)
    if isinstance(error, CredentialsError):
        return _from_credentials(action, where, error, service)
    if isinstance(error, NotCborError):
        return WireFormatError(f"{error}.", type(error).__name__, advice=Advice.USE_JSON, **where)
    kind = (
        UnavailableError if isinstance(error, (boto.HTTPClientError, boto.ConnectionError)) else ServiceError
    )
    if isinstance(error, boto.ParamValidationError):
        kind = InvalidRequestError
    name, message = type(error).__name__, safe_message(error)
    code = _UNKNOWN_CA if _UNKNOWN_CA in message else name
    return _failed(kind, f"{name}: {message}", code, "", action, where, service)


def not_ready(
    action: str, where: Mapping[str, str], what: str, code: str, request_id: str = ""
) -> ServiceError:
    """Return the error of a call of *action* on a stream that is not ready yet. *what* says how that shows."""
    return _failed(StreamNotReadyError, what, code, request_id, action, where, "Kinesis")


def malformed(
    action: str,
    where: Mapping[str, str],
    error: Exception,
    service: str = "Kinesis",
    *,
    endpoint_url: str = "",
    metadata: Mapping[str, Any] = _NO_METADATA,
) -> MalformedResponseError:
    """Return our error for one of `MALFORMED`, raised over a successful response to *action*, with its *metadata*."""
    request_id = str(metadata.get("HTTPHeaders", {}).get("x-amzn-requestid", ""))
    return MalformedResponseError(
        f"{endpoint_url or 'The endpoint'} responded to {action} with a malformed body: {_fault(error)} (request id "
        f"{request_id or 'none'}).",
        "MalformedResponse",
        request_id,
        advice=Advice.CHECK_ENDPOINT if service == "Kinesis" else Advice.CHECK_TABLES_ENDPOINT,
        **where,
    )


def _fault(error: Exception) -> str:
    return f"no valid {error}" if isinstance(error, (KeyError, TypeError)) else str(error)


def _from_credentials(
    action: str, where: Mapping[str, str], error: CredentialsError, service: str
) -> ServiceError:
    """Return *error* as an error of the call to be signed. A temporary one is retried like an error of the service."""
    kind = UnavailableError if error.retryable else AccessDeniedError
    code = getattr(error, "code", "") or type(error).__name__
    what = f"{service} {action} failed because it has no valid credentials. {error.what}"
    # The list of sources is long, so it comes last. The place of the call counts for both.
    place = {**where, **error.where, **where}
    return kind(what, code, getattr(error, "request_id", ""), error.advice, **place)


def _from_response(
    action: str, where: Mapping[str, str], response: ErrorResponse, service: str
) -> ServiceError:
    code, what = response.code, str(response)
    known = _BY_CODE if service == "Kinesis" else _BY_CODE_OF_DYNAMODB
    kind = known.get(code, UnavailableError if response.status >= 500 else ServiceError)
    if kind is ResourceInUseError and service == "Kinesis" and (state := _STATE.search(response.message)):
        kind = StreamNotReadyError if state[1] != "DELETING" else ServiceError
    if kind is ServiceError and code not in ADVICE_BY_CODE and service == "Kinesis":
        what = f"{what}. {_ADVICE_ON_OTHER_CODES.format(code=code)}"
    return _failed(kind, what, code, response.request_id, action, where, service)


def _failed(
    kind: type[ServiceError],
    what: str,
    code: str,
    request_id: str,
    action: str,
    where: Mapping[str, str],
    service: str,
) -> ServiceError:
    known = _ADVICE if service == "Kinesis" else _ADVICE_ON_DYNAMODB
    advice = ADVICE_BY_CODE.get(code) or known.get(kind, "")
    if isinstance(advice, str):
        advice = advice.format(needed=needed(service.lower(), action, code))
    passing = " The stream is not ready." if issubclass(kind, StreamNotReadyError) else ""
    return kind(f"{service} {action} failed: {what.rstrip('.')}.{passing}", code, request_id, advice, **where)
