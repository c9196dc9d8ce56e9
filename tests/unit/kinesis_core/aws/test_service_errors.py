"""Errors of botocore become errors of this package."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from kinesis_core.aws.service_errors import translate


def text_of(code: str, service: str = "Kinesis") -> str:
    response = {"Error": {"Code": code, "Message": "No."}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return str(translate("GetRecords", {"stream": "orders"}, ClientError(response, "GetRecords"), service))  # type: ignore[arg-type] # as botocore hands it over


def test_a_code_with_a_namespace_has_one_advice() -> None:
    """botocore may leave the namespace of a code. Its advice is that of the bare code, and no other."""
    text = text_of("com.amazonaws.kinesis.v20131202#KMSDisabledException")
    assert "The stream's KMS key is disabled: enable it, then restart." in text
    assert "is not retried" not in text


def test_an_unknown_code_of_kinesis_names_the_page() -> None:
    """A code without advice says that it is not retried, and where AWS explains it."""
    assert "AWS code Strange is not retried. See https://docs.aws.amazon.com/kinesis/" in text_of("a#Strange")


def test_an_unknown_code_of_dynamodb_has_no_page_of_kinesis() -> None:
    """The page of Kinesis explains no code of DynamoDB, whose calls are made again after a pause."""
    assert "is not retried" not in text_of("Strange", "DynamoDB")


def test_memory_is_no_failure_of_a_call() -> None:
    """botocore reports a lack of memory as a failed call. It is not repeated, as one would be that could not be sent."""
    with pytest.raises(MemoryError):
        translate("GetRecords", {"stream": "orders"}, HTTPClientError(error=MemoryError()))
    assert translate("GetRecords", {"stream": "orders"}, HTTPClientError(error=OSError())).retryable
