"""When the driver checks the stream that it writes to."""

from __future__ import annotations

import pytest

from kinesis_core import AccessDeniedError
from kinesis_core.aws import stream_client
from kinesis_core.aws.dry_runs import knows_dry_run
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.preflight import check_stream
from support.canned import Canned

SUMMARY = {
    "StreamDescriptionSummary": {
        "StreamName": "orders",
        "StreamARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/orders",
        "StreamStatus": "ACTIVE",
        "StreamCreationTimestamp": 1780000000,
        "RetentionPeriodHours": 24,
    }
}


def test_once_with_the_same_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream is checked once in a process, and again if the environment has other keys: it may be another stream."""
    options = SinkOptions.parse({"streamName": "orders", "region": "eu-west-1"})
    assert options.stream is not None
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-tell")
    asked, expected = [], []
    for key_id in ("AKIAFIRST", "AKIASECOND"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key_id)
        canned = Canned()
        client = stream_client(options.connection, options.stream).client
        canned.serve(client)
        canned.response(SUMMARY)
        canned.response({"Shards": []})
        canned.refuse("InvalidArgumentException")
        for _ in range(2):
            check_stream(options)
        asked += [action for action, _ in canned.asked]
        expected += [
            "DescribeStreamSummary",
            *(["ListShards", "PutRecords"] if knows_dry_run(client) else []),
        ]
    assert asked == expected


def test_a_denial_says_how_to_leave_the_check_out() -> None:
    """Only the executors may be allowed to write, so a denial on the driver names the option that leaves the check out."""
    options = SinkOptions.parse(
        {"streamName": "orders", "region": "eu-west-1", "awsAccessKeyId": "AKIADENIED", "awsSecretKey": "s"}
    )
    assert options.stream is not None
    client, canned = stream_client(options.connection, options.stream).client, Canned()
    if not knows_dry_run(client):
        pytest.skip("this botocore does not know DryRun")
    canned.serve(client)
    canned.response(SUMMARY)
    canned.refuse("AccessDeniedException")
    with pytest.raises(AccessDeniedError, match=r"kinesis:ListShards .*checkPermissions=false\. \[stream="):
        check_stream(options)
