"""ListShards: pages, tokens and filters."""

from __future__ import annotations

from typing import Any

from kinesis_emulator.errors import AwsError, future_timestamp, invalid_argument, stream_not_found
from kinesis_emulator.iterators import decode_token, encode_token
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.shards import StoredShard
from kinesis_emulator.store import StoredStream

_LONGEST_PAGE = 1000
"""Also if MaxResults is higher: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListShards.html."""


def list_shards(service: Service, request: Request) -> dict[str, Any]:
    now_ms = service.now_ms()
    limit = request.optional_integer("MaxResults")
    token = request.optional_text("NextToken")
    if token is None:
        if request.stream_name is None:
            raise invalid_argument("Either NextToken or StreamName should be provided.")
        stream = service.find_stream(request)
        state = _first_page(stream, request, now_ms)
    else:
        _check_token_is_alone(request)
        state = decode_token(token, now_ms, service.settings.token_life_s)
        stream = service.usable_stream(state["stream_arn"], request.action)
    if stream.created_ms != state["stream_created_ms"]:
        raise stream_not_found(stream.name, stream.account_id)
    service.admit("ListShards", f"stream {stream.name}", service.settings.limits.list_shards_per_s)
    with stream.lock:
        listed = stream.listed_shards(now_ms, service.settings.hide_children_s)
        shards = [shard for shard in listed if _is_wanted(shard, state, stream, now_ms)]
        page = shards[: min(limit or _LONGEST_PAGE, _LONGEST_PAGE)]
        response: dict[str, Any] = {"Shards": [shard.describe() for shard in page]}
    if len(shards) > len(page):
        response["NextToken"] = encode_token({**state, "after": page[-1].shard_id}, now_ms)
    return response


def _check_token_is_alone(request: Request) -> None:
    """Refuse parameters that would change the listing of the token."""
    names = ("StreamName", "StreamARN", "StreamCreationTimestamp", "ExclusiveStartShardId", "ShardFilter")
    given = next((name for name in names if request.params.get(name) is not None), None)
    if given is not None:
        raise invalid_argument(f"NextToken and {given} cannot be provided together.")


def _first_page(stream: StoredStream, request: Request, now_ms: int) -> dict[str, Any]:
    """Return the state that the pages of a listing share, and the start of the first one."""
    created_ms = request.optional_time_ms("StreamCreationTimestamp")
    kind, after, time_ms = _filter(request.member("ShardFilter"), now_ms)
    return {
        "stream_arn": stream.arn,
        "stream_created_ms": stream.created_ms if created_ms is None else created_ms,
        "filter": kind,
        "time_ms": time_ms,
        "after": max(after, request.optional_text("ExclusiveStartShardId") or ""),
    }


def _filter(given: Request, now_ms: int) -> tuple[str, str, int | None]:
    if not given.params:
        return "FROM_TRIM_HORIZON", "", None
    kind = given.text("Type")
    after = given.optional_text("ShardId")
    time_ms = given.optional_time_ms("Timestamp")
    wants_time = kind in ("AT_TIMESTAMP", "FROM_TIMESTAMP")
    if (after is not None) != (kind == "AFTER_SHARD_ID"):
        raise _filter_error(kind, "ShardId", after)
    if (time_ms is not None) != wants_time:
        raise _filter_error(kind, "Timestamp", time_ms)
    if time_ms is not None and time_ms > now_ms:
        raise future_timestamp(time_ms, now_ms)
    return kind, after or "", time_ms


def _filter_error(kind: str, name: str, value: object) -> AwsError:
    relation = "requires" if value is None else "does not accept"
    return invalid_argument(f"ShardFilter of type {kind} {relation} {name}.")


def _is_wanted(shard: StoredShard, state: dict[str, Any], stream: StoredStream, now_ms: int) -> bool:
    if shard.shard_id <= state["after"]:
        return False
    # The horizon of a stream that is younger than its retention is its creation.
    horizon = max(stream.horizon_ms(now_ms), stream.created_ms)
    closed_ms = now_ms if shard.closed_ms is None else shard.closed_ms
    time_ms = horizon if state["time_ms"] is None else max(state["time_ms"], horizon)
    match state["filter"]:
        case "AT_LATEST":
            return shard.closed_ms is None
        case "AT_TRIM_HORIZON" | "AT_TIMESTAMP":
            return shard.opened_ms <= time_ms <= closed_ms
        case "FROM_TIMESTAMP":
            return closed_ms >= time_ms
        case _:
            return True
