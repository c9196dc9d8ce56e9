"""Errors of botocore become errors of this package."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError, NoCredentialsError, SSLError

from kinesis_core.aws.service_errors import translate
from kinesis_core.errors import ServiceError
from kinesis_credentials import Advice, CredentialsError
from kinesis_credentials.errors import Attempt, NoCredentialsError as LackingCredentialsError
from kinesis_credentials.failures import translate as translate_lookup

WHERE = {"stream": "orders"}


def refused(code: str, service: str) -> ServiceError:
    response: Any = {"Error": {"Code": code, "Message": "No."}}
    return translate("Scan", WHERE, ClientError(response, "Scan"), service)


def test_an_unknown_code_of_dynamodb_has_no_page_of_kinesis() -> None:
    """The page of Kinesis explains no code of DynamoDB, whose calls are made again after a pause."""
    assert "is not retried" not in str(refused("Strange", "DynamoDB"))


def test_a_code_has_no_namespace() -> None:
    """botocore may leave the namespace of a code. The error has the bare code, and the advice for it."""
    error = refused("com.amazonaws.kinesis.v20131202#KMSDisabledException", "Kinesis")
    assert error.code == "KMSDisabledException"
    assert "The stream's KMS key is disabled: enable it, then restart." in str(error)


def test_memory_is_no_failure_of_a_call() -> None:
    """botocore reports a lack of memory as a failed call. It is not repeated, as one would be that could not be sent."""
    with pytest.raises(MemoryError):
        translate("GetRecords", WHERE, HTTPClientError(error=MemoryError()))
    assert translate("GetRecords", WHERE, HTTPClientError(error=OSError())).retryable


def test_an_error_without_a_botocore_class_is_only_named() -> None:
    """An error of the HTTP client itself is shown by its name alone: its text may contain a header with a token."""
    wrapped = HTTPClientError(error=ValueError("Invalid header value b't0ken'"))
    for translated in (translate("GetRecords", WHERE, wrapped), translate_lookup(wrapped, "assume-role")):
        assert "t0ken" not in str(translated)
        assert "ValueError" in str(translated)


def test_the_sources_that_were_tried_come_after_the_advice() -> None:
    """The list is long. It stays in the error of the call, also in a log."""
    lacking = LackingCredentialsError([Attempt("env", "AWS_ACCESS_KEY_ID is not set")])
    error = translate("GetRecords", WHERE, lacking)
    assert str(error).endswith(
        f"No AWS credentials were found. {Advice.GIVE_CREDENTIALS.value} [stream=orders tried=env: AWS_ACCESS_KEY_ID is not set]"
    )
    assert "tried=env: " in error.without_advice()


def test_credentials_that_vanish_are_not_retried() -> None:
    """Credentials that can no longer be found are an error that is not retried."""
    error = translate("GetRecords", WHERE, NoCredentialsError())
    assert not error.retryable
    assert "credentials" in str(error)


def test_a_place_that_an_error_of_credentials_names_too() -> None:
    """A provider class of the user may raise a `CredentialsError` that names the stream. The call's own place counts."""
    error = translate(
        "GetRecords", {"stream": "orders"}, CredentialsError("No keys.", stream="mine", role="reader")
    )
    assert error.where == {"stream": "orders", "role": "reader"}


@pytest.mark.parametrize(
    ("reason", "code", "advice"),
    [
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "CERTIFICATE_VERIFY_FAILED", True),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "SSLError", False),
    ],
)
def test_a_certificate_that_is_not_trusted(reason: str, code: str, *, advice: bool) -> None:
    """The error names the variable for the certificate of a CA. Other failures of TLS have other causes."""
    error = translate("GetRecords", WHERE, SSLError(endpoint_url="https://127.0.0.1", error=OSError(reason)))
    assert error.code == code
    assert reason in str(error)
    assert ("AWS_CA_BUNDLE" in str(error)) == advice
