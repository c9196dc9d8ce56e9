"""
Keeps the classes of an environment's PySpark as its JVMs have them in memory (class data sharing of Java).

Tests start hundreds of JVMs for a query of a few seconds. Each one would load and check 15,000 classes from 300 archives, and
compile them well: two thirds of the CPU time of such a query. A JVM ignores the file where it does not fit, as after another
version of Java was installed.

Run it by the Python of that environment. It prints, as JSON, the variables with which `spark-submit` uses the classes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
"""A JVM of a test ends long before the thorough compiler pays."""
QUERY = """
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "1")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.enabled", "false")
spark = builder.getOrCreate()
rows = spark.range(9).mapInArrow(lambda batches: batches, "id long").groupBy("id").count()
rows.write.parquet("rows")
stream = spark.readStream.schema(rows.schema).parquet("rows")
writer = stream.writeStream.option("checkpointLocation", "checkpoint").foreachBatch(lambda frame, _: frame.collect())
writer.trigger(availableNow=True).start().awaitTermination()
spark.stop()
"""


def keep(file: Path) -> None:
    """Run a small query, and write the classes that its JVM has loaded at its end to *file*, 180 MB."""
    new = file.with_suffix(".new")
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_SUBMIT_OPTS": f"-XX:ArchiveClassesAtExit={new} -Xlog:disable",
        }
        query = subprocess.run(
            [sys.executable, "-c", QUERY],
            cwd=folder,
            env=os.environ | variables,
            capture_output=True,
            text=True,
        )
    if query.returncode:
        sys.exit(query.stderr)
    new.rename(file)


def main() -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    # Next to the archives, and not in their folder, all of which Spark loads. Another version has another one.
    core = next(jars.glob("spark-core_*.jar"))
    classes = jars.with_name(f"{core.stem}.jsa")
    if not classes.is_file():
        keep(classes)
    options = f"{QUICK_COMPILER} -XX:SharedArchiveFile={classes} -Xlog:disable"
    json.dump({"SPARK_LAUNCHER_OPTS": QUICK_COMPILER, "SPARK_SUBMIT_OPTS": options}, sys.stdout)


if __name__ == "__main__":
    main()
