"""Tasks whose memory Spark limits. The limit counts also what their threads reserve."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kinesis_emulator import Emulator
from support import python_starts
from support.servers import FAN_OUT

SHARDS, RECORDS = 16, 320
JOB = """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession

options, fan_out = json.loads(sys.argv[1])
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.executor.cores", 1)
    .config("spark.executor.pyspark.memory", "600m")
    .getOrCreate()
)
orders, copies = dict(options, streamName="orders"), dict(options, streamName="copies")
rows = spark.read.format("kinesis").options(**orders).load()
print("READ", rows.count())
rows.write.format("kinesis").options(**copies).mode("append").save()
query = (
    spark.readStream.format("kinesis").options(**orders, **fan_out, startingPosition="TRIM_HORIZON").load()
    .writeStream.format("kinesis").options(**copies).option("checkpointLocation", "checkpoint")
    .trigger(availableNow=True).start()
)
query.awaitTermination()
copied = spark.read.format("kinesis").options(**copies).load()
print("COPIED", copied.count())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
@pytest.mark.parametrize("fan_out", [{}, FAN_OUT | {"consumerName": "mine"}], ids=["polling", "fan-out"])
def test_memory_of_tasks(emulator: Emulator, tmp_path: Path, fan_out: dict[str, str]) -> None:
    """Batches and queries read and write 16 shards with 600 MiB for a core: of them a worker has used 485 MB before."""
    for name in ("orders", "copies"):
        emulator.create_stream(name, shards=SHARDS)
    for number in range(RECORDS):
        emulator.put("orders", b"x" * 1000, str(number))
    (tmp_path / "job.py").write_text(JOB)
    options = json.dumps([emulator.spark_options, fan_out])
    command = [sys.executable, "job.py", options]
    ran = python_starts.run(command, cwd=tmp_path)
    assert f"READ {RECORDS}" in ran.stdout, ran.stderr
    assert f"COPIED {2 * RECORDS}" in ran.stdout, ran.stderr
