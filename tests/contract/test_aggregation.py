"""Our aggregates, read by independent packages: aws-kinesis-agg from npm and aws_kinesis_agg from PyPI."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any

import pytest

from kinesis_core.aggregation import AggregateBuilder
from support.witness import WitnessUnavailableError, install, require

NPM_PACKAGE = "aws-kinesis-agg@4.2.8"
MAX_HASH_KEY = str(2**128 - 1)

Row = tuple[bytes, str, str | None]

CASES: dict[str, list[Row]] = {
    "two": [(b"one", "a", None), (b"two", "b", None)],
    "repeated keys": [(b"%d" % i, f"key-{i % 3}", None) for i in range(20)],
    "explicit hash keys on all": [(b"%d" % i, "key", str(i * 2**100)) for i in range(10)],
    "explicit hash keys on some": [
        (b"1", "a", None),
        (b"2", "b", MAX_HASH_KEY),
        (b"3", "a", "0"),
        (b"4", "c", None),
    ],
    "text beyond ascii": [("значение".encode(), "schlüssel-鍵-🔑", None), (b"x", "𝄞", None)],
    "empty payloads": [(b"", "key", None), (b"between", "key", None), (b"", "key", None)],
    "every byte": [(bytes(range(256)), "key", None), (b"\xf3\x89\x9a\xc2", "key", None)],
    "indices and sizes of two bytes": [(b"x" * i, f"key-{i}", None) for i in range(300)],
    "sizes of three and four bytes": [
        (b"y" * 16_384, "k", None),
        (bytes(1024 * 1024), "k", None),
        (b"z", "k", None),
    ],
    "indices of three bytes": [(b"%d" % i, f"key-{i}", None) for i in range(17_000)],
    "the longest key": [(b"1", "é" * 256, None), (b"2", "🔑" * 256, None)],
}
cases = pytest.mark.parametrize("rows", CASES.values(), ids=CASES.keys())

READ = """
const { deaggregateSync } = require("aws-kinesis-agg");
const text = require("fs").readFileSync(0, "utf8");
deaggregateSync({ data: text, partitionKey: "a", sequenceNumber: "1" }, true, (error, records) => {
  if (error) throw error;
  const rows = records.map((r) => [r.data, r.partitionKey, r.explicitPartitionKey ?? null]);
  process.stdout.write(JSON.stringify(rows));
});
"""


def aggregate(rows: list[Row]) -> bytes:
    builder = AggregateBuilder(10 * 1024 * 1024)
    assert all(builder.add(*row) for row in rows)
    return builder.build()


@cases
@pytest.mark.witness
def test_is_read_by_the_package_from_npm(rows: list[Row]) -> None:
    """
    Amazon's de-aggregator for Node finds the same payloads, partition keys and explicit hash keys, in order. When only some
    user records have explicit hash keys, it gives the first one to the others, so these are not compared.
    """
    try:
        modules = install(NPM_PACKAGE)
    except WitnessUnavailableError as error:
        require(error)
    done = subprocess.run(
        ["node", "-e", READ],
        cwd=modules.parent,
        input=base64.b64encode(aggregate(rows)),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = [(base64.b64decode(data), key, hash_key) for data, key, hash_key in json.loads(done.stdout)]
    assert [one[:2] for one in found] == [row[:2] for row in rows]
    has_key = {row[2] is not None for row in rows}
    assert len(has_key) > 1 or found == rows


@cases
def test_is_read_by_the_package_from_pypi(rows: list[Row]) -> None:
    """Amazon's de-aggregator for Python finds the same payloads and keys. It mixes up explicit hash keys, so these are not compared."""
    record = {
        "Data": aggregate(rows),
        "PartitionKey": "a",
        "SequenceNumber": "1",
        "ApproximateArrivalTimestamp": 1.0,
    }
    found = [entry["kinesis"] for entry in _deaggregator().iter_deaggregate_records([record], "Boto3")]
    assert [(base64.b64decode(one["data"]), one["partitionKey"]) for one in found] == [
        row[:2] for row in rows
    ]


def _deaggregator() -> Any:
    """Import the library without its change to sys.path."""
    path = list(sys.path)
    from aws_kinesis_agg import deaggregator

    sys.path[:] = path
    return deaggregator
