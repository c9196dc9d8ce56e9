"""The canned server in both formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinesis_emulator.canned import CannedKinesis, CannedStream
from support.raw_calls import CBOR, ENCODE, JSON, Call, as_json, calls_to, iterator


def test_the_canned_server_has_the_same_records_in_both_formats() -> None:
    """Pages in CBOR have the records of those in JSON, whole or in parts. An unknown action is an error in CBOR."""
    with CannedKinesis(CannedStream(pages=2, records=30, record_bytes=100)) as kinesis:
        for call in calls_to(kinesis.port):
            for limit, counts in ((10_000, [30, 30, 0]), (20, [20, 10, 20, 10, 0])):
                pages = {
                    content_type: list(walk(call, content_type, limit, len(counts)))
                    for content_type in ENCODE
                }
                found = {
                    content_type: [page["Records"] for page in pages[content_type]] for content_type in ENCODE
                }
                assert as_json(found[CBOR]) == found[JSON]
                assert [len(page["Records"]) for page in pages[CBOR]] == counts
            arrived = pages[CBOR][1]["Records"][5]["ApproximateArrivalTimestamp"]
            start = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": arrived}
            _, page = call("GetRecords", ShardIterator=iterator(call, **start))
            assert page["Records"] == pages[CBOR][1]["Records"][5:]
            assert call("PutRecord")[1]["__type"] == "UnknownOperationException"


def walk(call: Call, content_type: str, limit: int, pages: int) -> Iterator[Any]:
    """Yield pages from the oldest record on."""
    found = iterator(call, content_type)
    for _ in range(pages):
        _, page = call("GetRecords", content_type, ShardIterator=found, Limit=limit)
        yield page
        found = page["NextShardIterator"]
