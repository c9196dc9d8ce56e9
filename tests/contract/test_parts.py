"""The parts of a batch, read by other processes."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain

import pytest

from kinesis_core import Batch, Stream
from kinesis_emulator import Emulator, Limits, Settings
from support.streams import tags_of_consumer

STREAM = "orders"
READ = """
import json, pickle, sys
stream, part = pickle.load(sys.stdin.buffer)
with stream:
    json.dump([record.data.decode() for record in part.records()], sys.stdout)
"""


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """Yield an emulator with 100 records in four shards, one of which was split."""
    with Emulator(settings=Settings(limits=Limits.unlimited(), resubscribe_after_s=0)) as made:
        made.create_stream(STREAM, shards=4)
        for i in range(100):
            if i == 50:
                made.split(STREAM, "shardId-000000000001")
            made.put(STREAM, b"%d" % i, f"key-{i}")
        yield made


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example-secret")


def read_elsewhere(stream: Stream, part: Batch) -> list[str]:
    """Return the data that another process reads, which finds credentials of its own, and closes its copy of the stream."""
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "AKIAOTHER", "AWS_SECRET_ACCESS_KEY": "other-secret"}
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input=pickle.dumps((stream, part)),
        capture_output=True,
        check=True,
        env=environment,
    )
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("consumer", [None, "audit"])
def test_other_processes_read_the_parts(emulator: Emulator, consumer: str | None) -> None:
    """Together they have the records of the batch, each once. A registered consumer stays until the stream that opened it is closed."""
    with Stream.open(
        STREAM, region="us-east-1", endpoint_url=emulator.endpoint_url, consumer=consumer
    ) as stream:
        parts = stream.read("TRIM_HORIZON").split(2)
        emulator.calls.clear()
        found = [read_elsewhere(stream, part) for part in parts]
        assert all(found)
        assert sorted(chain.from_iterable(found), key=int) == [str(i) for i in range(100)]
        if consumer is not None:
            assert emulator.calls.count("SubscribeToShard") == 6
            assert tags_of_consumer(emulator.endpoint_url, STREAM, consumer) == {}
