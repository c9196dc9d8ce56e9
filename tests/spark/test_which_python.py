"""A program of a virtual environment that is not activated: Spark's own choice of Python lacks the package."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from support import python_starts
from support.streams import StreamUnderTest

JOB = """
import json, sys
from pyspark.sql import SparkSession
from spark_kinesis_source import register

options = json.loads(sys.argv[1])
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
register(spark)
frame = spark.readStream.format("kinesis").options(**options).load()
query = frame.writeStream.format("memory").queryName("rows").trigger(availableNow=True).start()
query.awaitTermination()
print("ROWS", spark.table("rows").count())
"""


@pytest.mark.all_sparks
def test_register_chooses_the_python(stream: StreamUnderTest, tmp_path: Path) -> None:
    """After register(spark) on a local master, driver and tasks run the data source with the program's own Python."""
    stream.put_numbers(3)
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    (tmp_path / "job.py").write_text(JOB)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment |= {
        "PATH": f"{tmp_path}{os.pathsep}{environment['PATH']}",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    ran = python_starts.run(
        [sys.executable, "job.py", json.dumps(stream.options())],
        cwd=tmp_path,
        env=environment,
    )
    assert "ROWS 3" in ran.stdout, ran.stderr
