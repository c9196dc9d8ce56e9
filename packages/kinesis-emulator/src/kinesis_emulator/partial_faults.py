"""Faults that change a part of a response: failed records of PutRecords, empty pages, stale listings."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from kinesis_emulator.iterators import decode_iterator, encode_iterator
from kinesis_emulator.requests import Request

CarryOut = Callable[[Request], Any]
_FAILED = {"ErrorCode": "InternalFailure", "ErrorMessage": "Internal service failure."}


def put_some(carry_out: CarryOut, request: Request, fail_every: int) -> dict[str, Any]:
    """Put all records of *request* except every *fail_every*-th, and return PutRecords' response for all of them."""
    records = request.params.get("Records") or []
    fails = [i % fail_every == 0 for i in range(1, len(records) + 1)]
    taken = [record for record, is_lost in zip(records, fails, strict=True) if not is_lost]
    response: dict[str, Any] = {"FailedRecordCount": 0, "Records": []}
    if taken:
        response = carry_out(replace(request, params={**request.params, "Records": taken}))
    results = iter(response["Records"])
    merged = [dict(_FAILED) if is_lost else next(results) for is_lost in fails]
    return {**response, "FailedRecordCount": response["FailedRecordCount"] + sum(fails), "Records": merged}


def stand_still(carry_out: CarryOut, request: Request, millis_behind: int, now_ms: int) -> bytes:
    """Return an empty page of GetRecords whose iterator does not advance. Errors of the call are raised as usual."""
    carry_out(request)
    iterator = replace(decode_iterator(request.text("ShardIterator")), created_ms=now_ms)
    page = {
        "Records": [],
        "MillisBehindLatest": millis_behind,
        "NextShardIterator": encode_iterator(iterator),
    }
    return json.dumps(page, separators=(",", ":")).encode()


def list_some(
    carry_out: CarryOut, request: Request, hidden: Collection[str], hide_every: int
) -> dict[str, Any]:
    """Return the response of ListShards or DescribeStream without the *hidden* shards and every *hide_every*-th one."""
    response: dict[str, Any] = carry_out(request)
    holder = response.get("StreamDescription", response)
    listed = enumerate(holder["Shards"], 1)
    holder["Shards"] = [
        shard
        for i, shard in listed
        if shard["ShardId"] not in hidden and not (hide_every and i % hide_every == 0)
    ]
    return response
