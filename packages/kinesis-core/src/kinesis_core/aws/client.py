"""
The client of one stream, through botocore: endpoints, credentials, connections and errors are botocore's.

Rare calls go through the botocore client. Calls whose number grows with shards and records take `fast_path.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

from kinesis_core.aws.calls import DESCRIBE, BotoCaller, read_optional_text, read_text
from kinesis_core.aws.fast import BODY, SUMMARY, FastPath, Wire, decode_shards, find_wire
from kinesis_core.aws.retry import Throttles, log_retry
from kinesis_core.aws.service_errors import not_ready
from kinesis_core.errors import InvalidRequestError
from kinesis_core.model import (
    LAST_EPOCH_MS,
    After,
    At,
    AtTimestamp,
    Cut,
    Page,
    PutEntry,
    PutResponse,
    Shard,
    ShardEnd,
    StreamSummary,
    TrimHorizon,
    WarmThroughput,
)

_SHARDS_A_PAGE = 10_000
_DEFAULT_MAX_RECORD_KIB = 1024


@define
class BotoStreamApi(BotoCaller):
    """Reading and writing one stream."""

    calls: FastPath
    _wire: Wire = field(init=False, repr=False)

    @_wire.default
    def _find_wire(self) -> Wire:
        return find_wire(self.calls.wire_format)

    def describe(self, *, with_retries: bool = True, in_any_state: bool = False) -> StreamSummary:
        def parse(response: Mapping[str, Any]) -> StreamSummary:
            summary = _summary({**response.get(SUMMARY, {}), **response["StreamDescriptionSummary"]})
            if summary.status == "CREATING" and not in_any_state:
                raise not_ready(DESCRIBE, self._where({}), "the stream is CREATING", "CREATING")
            return summary

        ask = self._ask if with_retries else self._ask_once
        return ask(DESCRIBE, lambda: self.client.describe_stream_summary(**self._stream), parse)

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:
        wanted = {"ShardFilter": {"Type": "AT_LATEST"}} if only_open else {}
        shards, token = self._list_shards(with_retries, **self._stream, **wanted, MaxResults=_SHARDS_A_PAGE)
        while token:
            # Kinesis refuses any other parameter with it.
            more, token = self._list_shards(with_retries, NextToken=token)
            shards += more
        return shards

    def _list_shards(self, with_retries: bool, **request: Any) -> tuple[list[Shard], str | None]:
        def parse(response: Mapping[str, Any]) -> tuple[list[Shard], str | None]:
            shards, token = decode_shards(response[BODY])
            if not shards and not token and "NextToken" not in request:
                what = "it names no shard of the stream"
                raise not_ready("ListShards", self._where({}), what, "NoShards")
            return shards, token

        ask = self._ask if with_retries else self._ask_once
        return ask("ListShards", lambda: self.client.list_shards(**request), parse)

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        try:
            return self._get_iterator(shard_id, cut)
        except InvalidRequestError as error:
            now_ms = (
                self.now_ms()
            )  # Date headers were forgotten with the refusal: our own clock may have changed
            if not isinstance(cut, AtTimestamp) or cut.epoch_ms <= now_ms:
                raise
            log_retry("GetShardIterator", error.code, 1, 0.0, stream=self.arn or self.name, shard=shard_id)
            return self._get_iterator(shard_id, AtTimestamp(now_ms))

    def _get_iterator(self, shard_id: str, cut: Cut) -> str:
        wire = self._wire
        start = _iterator_request(cut, wire.encode_time)
        body = wire.encode_request({"ShardId": shard_id, **start, **self._stream})
        return self._ask(
            "GetShardIterator",
            lambda: self.calls.call("GetShardIterator", self._stream, body),
            lambda response: read_text(wire.decode_response(response[BODY]), "ShardIterator"),
            Throttles.RAISED,
            shard=shard_id,
        )

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        arn = {"StreamARN": self.arn} if self.arn else {}
        body = self._wire.encode_request({"ShardIterator": iterator, "Limit": limit, **arn})
        return self._ask(
            "GetRecords",
            lambda: self.calls.call("GetRecords", arn, body),
            lambda response: self._wire.decode_page(response[BODY], with_data),
            Throttles.RAISED,
            **({"shard": shard_id} if shard_id else {}),
        )

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:
        body = self._wire.encode_put(entries, self.name, self.arn)
        taken = self._ask_once(
            "PutRecords",
            lambda: self.calls.call("PutRecords", self._stream, body),
            lambda response: self._wire.decode_put_response(response[BODY], len(entries), with_results),
        )
        self.budget.succeeded()
        return taken


def _iterator_request(cut: Cut, encode_time: Callable[[int], Any]) -> dict[str, Any]:
    match cut:
        case TrimHorizon():
            return {"ShardIteratorType": "TRIM_HORIZON"}
        case AtTimestamp(epoch_ms):
            return {
                "ShardIteratorType": "AT_TIMESTAMP",
                "Timestamp": encode_time(min(epoch_ms, LAST_EPOCH_MS)),
            }
        case At(number):
            return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": str(number)}
        case After(number):
            return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": str(number)}
        case ShardEnd():
            raise ValueError("no iterator starts at the end of a shard")


def _summary(facts: Mapping[str, Any]) -> StreamSummary:
    return StreamSummary(
        name=read_text(facts, "StreamName"),
        arn=read_text(facts, "StreamARN"),
        status=read_text(facts, "StreamStatus"),
        created_ms=round(facts["StreamCreationTimestamp"].timestamp() * 1000),
        retention_hours=int(facts["RetentionPeriodHours"]),
        max_record_bytes=1024 * int(facts.get("MaxRecordSizeInKiB", _DEFAULT_MAX_RECORD_KIB)),
        is_auto_distributed=facts.get("RecordDistributionStrategy") == "AUTO",
        is_on_demand=facts.get("StreamModeDetails", {}).get("StreamMode") == "ON_DEMAND",
        is_encrypted=facts.get("EncryptionType") == "KMS",
        key_id=read_optional_text(facts, "KeyId"),
        open_shards=int(facts.get("OpenShardCount", 0)),
        consumers=int(facts.get("ConsumerCount", 0)),
        queues=int(facts["QueueCount"]) if "QueueCount" in facts else None,
        warm=_warm_throughput(facts.get("WarmThroughput", {})),
    )


def _warm_throughput(facts: Mapping[str, Any]) -> WarmThroughput | None:
    current, target = facts.get("CurrentMiBps"), facts.get("TargetMiBps")
    if current is None:
        return None
    return WarmThroughput(int(current), int(current if target is None else target))
