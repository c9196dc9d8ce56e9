"""An environment in which the documentation runs: an emulator with its streams, a DynamoDB, and an isolated Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest

from kinesis_emulator import EmulatorProcess
from support.left_checkpoints import AWSLABS_LOG, after, leave_checkpoint
from support.witness import moto

REGION = "eu-west-1"
"""The region in the examples of the documentation."""
SPARK_DEFAULTS = """\
spark.driver.bindAddress 127.0.0.1
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.driver.host 127.0.0.1
spark.sql.codegen.wholeStage false
spark.sql.shuffle.partitions 2
spark.ui.enabled false
spark.ui.showConsoleProgress false
"""


@pytest.fixture(scope="session")
def endpoint_url() -> Iterator[str]:
    with EmulatorProcess({"orders": 2, "teas": 1}, region=REGION) as emulator:
        records = [{"Data": b"tea", "PartitionKey": f"customer-{n}"} for n in range(20)]
        _client(emulator.endpoint_url).put_records(StreamName="orders", Records=records)
        yield emulator.endpoint_url


def _client(endpoint_url: str) -> Any:
    return boto3.client(
        "kinesis",
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )


@pytest.fixture(scope="session")
def dynamodb_url() -> Iterator[str]:
    with moto() as endpoint_url:
        yield endpoint_url


@pytest.fixture
def old_checkpoint(endpoint_url: str, tmp_path: Path) -> None:
    """Write a checkpoint of another connector that has read one record of each shard."""
    client = _client(endpoint_url)
    read = {}
    for shard in client.list_shards(StreamName="orders")["Shards"]:
        where = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.get_shard_iterator(StreamName="orders", **where)["ShardIterator"]
        [record] = client.get_records(ShardIterator=iterator, Limit=1)["Records"]
        read[shard["ShardId"]] = after(record["SequenceNumber"], subSequenceNumber=-1, isLast=True)
    leave_checkpoint(tmp_path / "checkpoints/old", AWSLABS_LOG, "orders", read, read)


@pytest.fixture
def environment(endpoint_url: str, dynamodb_url: str, tmp_path: Path) -> dict[str, str]:
    """Return the environment in which code for AWS calls the emulator, without the AWS settings of the machine."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(SPARK_DEFAULTS)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **kept,
        "AWS_ENDPOINT_URL_KINESIS": endpoint_url,
        "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_url,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
