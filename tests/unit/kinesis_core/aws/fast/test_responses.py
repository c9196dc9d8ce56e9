"""Bodies of GetRecords and of subscription events: what is decoded, and what is malformed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.fast.wire import decode_event, decode_page
from kinesis_core.model import Page, Record
from support.vectors import JSON_RECORD, MALFORMED_JSON, NUMBER, json_body


def test_decodes_what_get_records_returns() -> None:
    """Every member of a response is decoded, with the payload as bytes."""
    assert decode_page(json_body(JSON_RECORD)) == Page(
        records=[Record(NUMBER, b"payload", "key", 1790000012.345, "KMS")],
        millis_behind=7,
        next_iterator="next",
        body_bytes=len(json_body(JSON_RECORD)),
    )


def test_a_record_is_compared_and_timed_in_whole_numbers() -> None:
    """Sequence numbers compare as ints. Arrival times are whole milliseconds."""
    (record,) = decode_page(json_body(JSON_RECORD)).records
    assert (record.number, record.arrived_ms) == (int(NUMBER), 1790000012345)


def test_only_the_sequence_number_is_needed() -> None:
    """The partition key and the arrival time may be absent, and the data may be empty."""
    (record,) = decode_page(json_body({"SequenceNumber": "1", "Data": ""})).records
    assert record == Record("1", b"", None, None, None)
    assert record.arrived_ms is None


@pytest.mark.parametrize("iterator", [None, ...], ids=["null", "absent"])
def test_no_next_iterator_ends_the_shard(iterator: Any) -> None:
    """A null and an absent NextShardIterator both mean the end of the shard."""
    assert decode_page(json_body(JSON_RECORD, NextShardIterator=iterator)).is_shard_end


def test_child_shards_are_kept() -> None:
    """A page has the child shards that Kinesis names at the end of a shard."""
    children = [{"ShardId": "shardId-000000000001", "ParentShards": ["shardId-000000000000"]}]
    assert decode_page(json_body(NextShardIterator=None, ChildShards=children)).child_shards == children


@pytest.mark.parametrize("children", [[], [{"ShardId": "shardId-000000000001"}]], ids=["none", "one"])
@pytest.mark.parametrize("continuation", [NUMBER, None], ids=["named", "null"])
def test_children_or_no_continuation_end_a_subscribed_shard(
    children: list[Any], continuation: str | None
) -> None:
    """An event ends its shard if it names children, or if it has no continuation sequence number."""
    event = {"Records": [JSON_RECORD], "MillisBehindLatest": 0, "ChildShards": children}
    page = decode_event(json.dumps(event | {"ContinuationSequenceNumber": continuation}).encode())
    assert page.is_shard_end == (bool(children) or continuation is None)


def test_an_empty_page_is_not_the_end() -> None:
    """A page without records but with an iterator does not end the shard."""
    page = decode_page(json_body())
    assert (page.records, page.is_shard_end) == ([], False)


def test_unknown_members_are_ignored() -> None:
    """AWS may add members to the response and to its records."""
    page, newer = (
        decode_page(json_body(JSON_RECORD)),
        decode_page(json_body(JSON_RECORD | {"New": [1, {}]}, New={"a": None})),
    )
    assert (newer.records, newer.next_iterator) == (page.records, page.next_iterator)


def test_data_can_be_left_out() -> None:
    """Without its data a record has the same other members."""
    (record,) = decode_page(json_body(JSON_RECORD), with_data=False).records
    assert isinstance(record, Record)
    assert (record.number, record.data, record.partition_key) == (int(NUMBER), b"", "key")


@pytest.mark.parametrize("response", MALFORMED_JSON.values(), ids=MALFORMED_JSON)
def test_anything_else_is_malformed(response: bytes) -> None:
    """An incomplete body is never a page and never the end of a shard."""
    with pytest.raises(MALFORMED):
        decode_page(response)


def test_the_error_shows_no_payload() -> None:
    """The error shows neither data nor partition key, so no payload reaches a log."""
    with pytest.raises(MALFORMED) as caught:
        decode_page(json_body(JSON_RECORD | {"Data": "c2VjcmV0!", "PartitionKey": "secret"}))
    assert "c2Vj" not in str(caught.value)
    assert "secret" not in str(caught.value)
