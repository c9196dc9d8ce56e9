"""
Does what one package is for, once, where nothing of the tests is installed.

    python -I tests/packaging/smoke_alone.py kinesis-core

The session `alone` runs it in an environment that holds the package's wheel, what that asks for, the emulator's wheel to
talk to, and for the Spark packages a PySpark. No Spark is started: what it would call is called by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STREAM, REGION, KEY_ID, SECRET = "orders", "us-east-1", "AKIAEXAMPLE", "do-not-tell"
DATA = b"tea"


def credentials() -> None:
    from kinesis_credentials import StaticKeys, get_credentials, open_session

    found = get_credentials(open_session(StaticKeys(KEY_ID, SECRET)))
    assert found.access_key == KEY_ID


def emulator() -> None:
    from kinesis_emulator import Emulator

    with Emulator() as running:
        running.create_stream(STREAM)
        headers = {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": "Kinesis_20131202.ListStreams",
        }
        asked = urllib.request.Request(running.endpoint_url, b"{}", headers)  # noqa: S310 # the emulator's address
        with urllib.request.urlopen(asked) as response:  # noqa: S310 # likewise
            assert json.load(response)["StreamNames"] == [STREAM]


def core() -> None:
    from kinesis_core import Stream
    from kinesis_credentials import StaticKeys

    with filled() as running:
        keys = StaticKeys(KEY_ID, SECRET)
        stream = Stream.open(STREAM, region=REGION, endpoint_url=running.endpoint_url, credentials=keys)
        assert [record.data for record in stream.read("TRIM_HORIZON").records()] == [DATA]


def consumer() -> None:
    from kinesis_consumer.stores import MemoryTable

    table = MemoryTable()
    table.prepare()
    assert table.create("shardId-000000000000", {"leaseCounter": 0})
    assert [item["leaseCounter"] for item in table.scan()] == [0]


def cli() -> None:
    from kinesis_emulator.client_settings import environment

    command = ("tail", STREAM, "--since", "TRIM_HORIZON", "--no-follow", "-o", "raw")
    with filled() as running:
        ran = subprocess.run(
            [sys.executable, "-I", "-m", "kinesis_cli", *command],
            env={**os.environ, **environment(running.endpoint_url, REGION)},
            stdout=subprocess.PIPE,
            check=True,
        )
    assert ran.stdout == DATA + b"\n"


def source() -> None:
    from pyspark_kinesis_source import DefaultSource

    with filled() as running:
        half = DefaultSource({**options(running), "startingPosition": "TRIM_HORIZON"})
        schema = half.schema()
        assert half.streamReader(schema)
        reader: Any = half.reader(schema)
        batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
        assert [row["data"] for batch in batches for row in batch.to_pylist()] == [DATA]


def sink() -> None:
    import pyarrow as pa
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType

    from pyspark_kinesis_sink import DefaultSource

    schema = StructType([StructField("data", BinaryType()), StructField("partitionKey", StringType())])
    with filled() as running:
        half = DefaultSource(options(running))
        assert half.streamWriter(schema, False)
        writer = half.writer(schema, False)
        written = writer.write(iter([pa.RecordBatch.from_pydict({"data": [DATA], "partitionKey": ["k"]})]))
        writer.commit([written])
        assert [record.data for record in running.records(STREAM)] == [DATA, DATA]


@contextmanager
def filled() -> Iterator[Any]:
    """Yield an emulator with one record."""
    from kinesis_emulator import Emulator

    with Emulator() as running:
        running.create_stream(STREAM)
        running.put(STREAM, DATA, "k")
        yield running


def options(running: Any) -> dict[str, str]:
    return {
        "streamName": STREAM,
        "region": REGION,
        "endpointUrl": running.endpoint_url,
        "awsAccessKeyId": KEY_ID,
        "awsSecretKey": SECRET,
    }


SMOKE: dict[str, Callable[[], None]] = {
    "kinesis-credentials": credentials,
    "kinesis-emulator": emulator,
    "kinesis-core": core,
    "kinesis-consumer": consumer,
    "kinesis-cli": cli,
    "spark-kinesis-source": source,
    "spark-kinesis-sink": sink,
}

if __name__ == "__main__":
    SMOKE[sys.argv[1]]()
