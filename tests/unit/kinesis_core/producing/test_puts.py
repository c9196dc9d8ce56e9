from __future__ import annotations

import base64
import json

import pytest

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.fast.wire import decode_put_response, encode_put, encode_put_in_python
from kinesis_core.aws.fast.wire_cbor import encode_put_in_python as encode_cbor_put_in_python
from kinesis_core.model import PutEntry
from support.vectors import PUTS

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"


def response(*results: dict[str, str], failed: int = 0) -> bytes:
    return json.dumps({"FailedRecordCount": failed, "Records": results, "EncryptionType": "KMS"}).encode()


def test_the_body_is_what_kinesis_documents() -> None:
    """Data is base64, keys are JSON text, explicit hash keys are optional, and the stream is given by name."""
    body = encode_put([PutEntry(b"\x00\xff", 'k"é\n'), PutEntry(b"", "k", "5")], "orders", None)
    assert json.loads(body) == {
        "StreamName": "orders",
        "Records": [
            {"Data": base64.b64encode(b"\x00\xff").decode(), "PartitionKey": 'k"é\n'},
            {"Data": "", "PartitionKey": "k", "ExplicitHashKey": "5"},
        ],
    }


@pytest.mark.parametrize(("entries", "in_json", "in_cbor"), PUTS.values(), ids=PUTS)
def test_bodies(entries: list[PutEntry], in_json: bytes, in_cbor: bytes) -> None:
    """
    Members without a value are left out, and keys are escaped. A stream that distributes its records itself accepts a missing
    key, and refuses an empty one.
    """
    assert encode_put_in_python(entries, "orders", None) == in_json
    assert encode_cbor_put_in_python(entries, "orders", None) == in_cbor


def test_the_arn_comes_before_the_name() -> None:
    """A stream opened by its ARN may be in another account, where its name would mean another stream."""
    assert json.loads(encode_put([], "orders", ARN)) == {"StreamARN": ARN, "Records": []}


def test_results_keep_their_order() -> None:
    """Shards and errors have the order of the records."""
    body = response(
        {"ShardId": "s", "SequenceNumber": "1"}, {"ErrorCode": "C", "ErrorMessage": "m"}, failed=1
    )
    found = decode_put_response(body, 2, with_results=False)
    assert found.failed == 1
    assert [(r.shard_id, r.error_code, r.error_message) for r in found.results] == [
        ("s", None, None),
        (None, "C", "m"),
    ]


WRITTEN = {"ShardId": "s", "SequenceNumber": "1"}
REFUSED = {"ErrorCode": "C", "ErrorMessage": "m"}


def test_results_are_returned_only_on_request() -> None:
    """The results of a request without failures are verified, and returned only on request."""
    body = response(WRITTEN)
    assert decode_put_response(body, 1, with_results=False).results == ()
    assert [result.shard_id for result in decode_put_response(body, 1, with_results=True).results] == ["s"]


@pytest.mark.parametrize("with_results", [True, False])
@pytest.mark.parametrize("count", ["", '"FailedRecordCount": null, ', '"FailedRecordCount": 1, '])
def test_the_results_say_what_failed(count: str, with_results: bool) -> None:
    """The number of failures may be left out, as the API allows. An error code means a failure, whatever stands beside it."""
    body = f'{{{count}"Records": [{json.dumps(WRITTEN)}, {json.dumps(WRITTEN | REFUSED)}]}}'.encode()
    found = decode_put_response(body, 2, with_results)
    assert (found.failed, [result.error_code for result in found.results]) == (1, [None, "C"])


@pytest.mark.parametrize("with_results", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b"<html></html>",
        b'{"FailedRecordCount": 0}',
        b'{"FailedRecordCount": 0, "Records": null}',
        b'{"FailedRecordCount": "0", "Records": []}',
        b'{"FailedRecordCount": 0, "Records": [null]}',
        response(),
        response(WRITTEN, WRITTEN),
        response(REFUSED),
        response(WRITTEN, failed=1),
        response({}),
        response({"ShardId": "s"}),
        response({"SequenceNumber": "1"}),
        response({"ShardId": "s", "SequenceNumber": ""}),
        response({"ShardId": "", "SequenceNumber": "1"}),
        response({"ErrorCode": ""}, failed=1),
    ],
)
def test_a_malformed_response_is_an_error(body: bytes, with_results: bool) -> None:
    """A successful status with a body that does not say for the record what became of it is malformed."""
    with pytest.raises(MALFORMED):
        decode_put_response(body, 1, with_results)
