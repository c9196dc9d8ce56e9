"""Programs whose tests use moto in their own process."""

from __future__ import annotations

import random
from typing import Any

from botocore.credentials import Credentials
from botocore.session import Session
from moto import mock_aws

from kinesis_core.aws import RetryPolicy
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import FastPath, install_raw_bodies
from kinesis_core.model import PutEntry, TrimHorizon
from support.fake_stream import FakeClock


@mock_aws
def test_every_call_has_a_response() -> None:
    """Calls that bypass botocore's client (the second and later ones of an action) get moto's responses too."""
    keys = Credentials("AKIAEXAMPLE", "do-not-tell")
    client: Any = Session().create_client("kinesis", "eu-west-1")
    install_raw_bodies(client)
    client.create_stream(StreamName="orders", ShardCount=1)
    calls = FastPath(client, keys)
    api = BotoStreamApi(client, "orders", None, RetryPolicy(0), FakeClock(), random.Random(0), calls)
    for data in (b"1", b"2", b"3"):
        api.put_records([PutEntry(data, "key")])
    pages = [api.get_records(api.get_iterator("shardId-000000000000", TrimHorizon()), 10) for _ in range(3)]
    assert [[record.data for record in page.records] for page in pages] == [[b"1", b"2", b"3"]] * 3
