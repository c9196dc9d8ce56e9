"""A stream behind a client for one format of bodies, with canned responses."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import cbor2
import pytest
from attrs import define, field
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.session import Session

from kinesis_core.aws import RetryPolicy, WireFormat
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import FastPath, install_raw_bodies
from kinesis_core.errors import ServiceError
from kinesis_core.model import PutEntry, TrimHorizon
from support.canned import CBOR_TYPE, Canned
from support.fake_stream import FakeClock

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
JSON_TYPE = "application/x-amz-json-1.1"
KEYS = Credentials("AKIAEXAMPLE", "do-not-tell", "nor-this")
SESSION = Session()
SESSION.register_component("credential_provider", SimpleNamespace(load_credentials=lambda: KEYS))
RECORD = {
    "SequenceNumber": "4966",
    "Data": b"\x00\xff",
    "PartitionKey": "k",
    "ApproximateArrivalTimestamp": cbor2.CBORTag(1, 1_790_000_000_123),
}
PAGE: dict[str, Any] = {"Records": [RECORD], "NextShardIterator": "next", "MillisBehindLatest": 0}
PUT: dict[str, Any] = {"FailedRecordCount": 0, "Records": [{"ShardId": "shardId-1", "SequenceNumber": "5"}]}
CALLS: dict[str, tuple[Callable[[BotoStreamApi], Any], Any]] = {
    "GetShardIterator": (
        lambda api: api.get_iterator("shardId-1", TrimHorizon()),
        {"ShardIterator": "iterator"},
    ),
    "GetRecords": (lambda api: api.get_records("iterator", 10), {**PAGE, "Records": []}),
    "PutRecords": (lambda api: api.put_records([PutEntry(b"\x00\xff", "key")]), PUT),
}
EVERY_CALL = pytest.mark.parametrize("action", CALLS)


@define
class FormatWorld:
    """One stream behind a client for one format, with canned responses."""

    wire_format: WireFormat = WireFormat.CBOR
    client: Any = field(init=False)
    canned: Canned = field(factory=Canned)
    api: BotoStreamApi = field(init=False)

    def __attrs_post_init__(self) -> None:
        config = Config(retries={"total_max_attempts": 1})
        self.client = SESSION.create_client("kinesis", "eu-west-1", config=config)
        self.canned.serve(self.client)
        install_raw_bodies(self.client, self.wire_format)
        calls = FastPath(self.client, KEYS, wire_format=self.wire_format)
        self.api = BotoStreamApi(
            self.client, "orders", ARN, RetryPolicy(0), FakeClock(), random.Random(0), calls
        )

    def error(self, action: str, body: Any, status: int, content_type: str | None) -> ServiceError:
        """Return the error of a call with this response, which is the same through the client and past it."""
        ask, good = CALLS[action]
        own = CBOR_TYPE if self.wire_format is WireFormat.CBOR else JSON_TYPE
        found = []
        for warm_up in (False, True):
            if warm_up:
                self.canned.response(good, content_type=own)
                ask(self.api)
            self.canned.response(body, status, content_type=content_type)
            self.canned.response(
                body, status, content_type=content_type
            )  # for the client, if it has to repeat the call
            with pytest.raises(ServiceError) as caught:
                ask(self.api)
            self.canned.responses.clear()
            found.append(caught.value)
        assert (type(found[0]), str(found[0])) == (type(found[1]), str(found[1]))
        return found[0]
