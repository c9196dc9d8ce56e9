"""
The door to AWS by botocore: signing, endpoints, credentials and errors are its own, the large bodies are ours.

botocore's parser is by far the most expensive part of reading, so GetRecords' body is taken from it before it parses;
its serializer and parser are that of writing, so PutRecords is given its body before it is signed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from attrs import define
from botocore.client import BaseClient

from kinesis_core.boto_calls import BotoCaller, read_optional_text, read_text
from kinesis_core.cuts import LAST_EPOCH_MS, After, At, AtTimestamp, Cut, ShardEnd, TrimHorizon
from kinesis_core.errors import InvalidRequestError
from kinesis_core.pages import Page, decode_page
from kinesis_core.puts import PutAnswer, PutEntry, decode_put_answer, encode_put
from kinesis_core.retry import call_with_retries
from kinesis_core.shards import Shard
from kinesis_core.stream_api import StreamSummary

_BODY = "KinesisCoreBody"
_TIME = "KinesisCoreTime"
_PLACEHOLDER = ({"Data": b"", "PartitionKey": "-"},)
"""Stands for the records of a PutRecords body that is given; botocore checks and serializes it for nothing."""
_SHARDS_A_PAGE = 10_000
_DEFAULT_MAX_RECORD_KIB = 1024


def take_body(client: BaseClient) -> None:
    """Make *client* hand GetRecords' body over unparsed; errors stay botocore's."""
    client.meta.events.register("before-parse.kinesis.GetRecords", _take_body)


def give_body(client: BaseClient) -> None:
    """Let *client*'s PutRecords take its body ready-made, and hand the answer's over; the rest stays botocore's."""
    events = client.meta.events
    events.register("provide-client-params.kinesis.PutRecords", _set_body_aside)
    events.register("before-call.kinesis.PutRecords", _give_body)
    events.register("before-parse.kinesis.PutRecords", _take_body)


def _set_body_aside(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    context[_BODY] = params.pop(_BODY)  # botocore knows no such parameter


def _give_body(params: dict[str, Any], **_: Any) -> None:
    params["body"] = params["context"][_BODY]


def send_milliseconds(client: BaseClient) -> None:
    """Make *client* send times to the millisecond; botocore before 1.44 cuts them to the second."""
    events = client.meta.events
    events.register("provide-client-params.kinesis.GetShardIterator", _set_time_aside)
    events.register("before-call.kinesis.GetShardIterator", _send_time)


def _set_time_aside(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    context[_TIME] = params.get("Timestamp")


def _send_time(params: dict[str, Any], **_: Any) -> None:
    when = params["context"][_TIME]
    if when is not None:
        params["body"] = json.dumps({**json.loads(params["body"]), "Timestamp": when.timestamp()}).encode()


def _take_body(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    if response_dict["status_code"] < 300:
        customized_response_dict[_BODY] = response_dict["body"]
        response_dict["body"] = b"{}"


@define
class BotoStreamApi(BotoCaller):
    """Reading and writing, through a client that `take_body`, `send_milliseconds` and `give_body` were called with."""

    def describe(self) -> StreamSummary:
        return self._ask(
            "DescribeStreamSummary",
            lambda: self.client.describe_stream_summary(**self._stream),
            lambda answer: _summary(answer["StreamDescriptionSummary"]),
        )

    def list_shards(self) -> list[Shard]:
        shards, token = self._list_shards(**self._stream, MaxResults=_SHARDS_A_PAGE)
        while token:
            more, token = self._list_shards(NextToken=token)  # Kinesis refuses any other parameter beside it
            shards += more
        return shards

    def _list_shards(self, **request: Any) -> tuple[list[Shard], str | None]:
        return self._ask(
            "ListShards",
            lambda: self.client.list_shards(**request),
            lambda answer: ([_shard(s) for s in answer["Shards"]], read_optional_text(answer, "NextToken")),
        )

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        try:
            return self._get_iterator(shard_id, cut)
        except InvalidRequestError:
            now_ms = self.now_ms()  # the refusal said what time it is, should our own clock have been moved
            if not isinstance(cut, AtTimestamp) or cut.epoch_ms <= now_ms:
                raise
            return self._get_iterator(shard_id, AtTimestamp(now_ms))

    def _get_iterator(self, shard_id: str, cut: Cut) -> str:
        request = {**self._stream, "ShardId": shard_id, **_iterator_request(cut)}
        return self._ask(
            "GetShardIterator",
            lambda: self.client.get_shard_iterator(**request),
            lambda answer: read_text(answer, "ShardIterator"),
            f"shard={shard_id}",
        )

    def get_records(self, iterator: str, limit: int, with_data: bool = True) -> Page:
        arn = {"StreamARN": self.arn} if self.arn else {}

        def call() -> Page:
            answer = self._call(
                "GetRecords", lambda: self.client.get_records(ShardIterator=iterator, Limit=limit, **arn)
            )
            return decode_page(answer[_BODY], with_data)

        return call_with_retries("GetRecords", call, self.policy, self.clock, self.rng, retry_throttles=False)

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutAnswer:
        body = encode_put(entries, self.name, self.arn)
        request = {**self._stream, "Records": _PLACEHOLDER, _BODY: body}
        answer = self._call("PutRecords", lambda: self.client.put_records(**request))
        return decode_put_answer(answer[_BODY], len(entries), with_results)


def _iterator_request(cut: Cut) -> dict[str, Any]:
    match cut:
        case TrimHorizon():
            return {"ShardIteratorType": "TRIM_HORIZON"}
        case AtTimestamp(epoch_ms):
            when = datetime.fromtimestamp(min(epoch_ms, LAST_EPOCH_MS) / 1000, timezone.utc)
            return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": when}
        case At(number):
            return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": str(number)}
        case After(number):
            return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": str(number)}
        case ShardEnd():
            raise ValueError("nothing lies behind the end of a shard")


def _summary(facts: Mapping[str, Any]) -> StreamSummary:
    return StreamSummary(
        name=read_text(facts, "StreamName"),
        arn=read_text(facts, "StreamARN"),
        status=read_text(facts, "StreamStatus"),
        created_ms=round(facts["StreamCreationTimestamp"].timestamp() * 1000),
        retention_hours=int(facts["RetentionPeriodHours"]),
        max_record_bytes=1024 * int(facts.get("MaxRecordSizeInKiB", _DEFAULT_MAX_RECORD_KIB)),
    )


def _shard(facts: Mapping[str, Any]) -> Shard:
    ending = facts["SequenceNumberRange"].get("EndingSequenceNumber")
    return Shard(
        shard_id=read_text(facts, "ShardId"),
        parent_id=read_optional_text(facts, "ParentShardId"),
        adjacent_parent_id=read_optional_text(facts, "AdjacentParentShardId"),
        hash_start=int(facts["HashKeyRange"]["StartingHashKey"]),
        hash_end=int(facts["HashKeyRange"]["EndingHashKey"]),
        starting_number=int(facts["SequenceNumberRange"]["StartingSequenceNumber"]),
        ending_number=None if ending is None else int(ending),
    )
