"""
What is left of Spark's archives in its workers when our packages have done their part of a query.

Before the next part, Spark lets Python read the table of contents of an archive again for each finder that is left. None of this is
measured as time.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinesis_emulator import EmulatorProcess
from support.streams import StreamUnderTest

PLANNING = "import pyspark.sql.worker.plan_data_source_read"
TASK = "import pyspark.worker"
SOURCE = "from pyspark_kinesis_source import DefaultSource; from spark_kinesis_source import default_schema"
SINK = "from pyspark_kinesis_sink import DefaultSource; from pyspark.sql.types import StructType"
SCHEMA = "StructType().add('data', 'string')"
READER = f"{SOURCE}\nreader = DefaultSource(OPTIONS).reader(default_schema())"
WRITER = f"{SINK}\nwriter = DefaultSource(OPTIONS).writer({SCHEMA}, False)"
PARTS = {
    "load": (PLANNING, f"{SOURCE}\nDefaultSource(OPTIONS).schema()"),
    "batch reader": (PLANNING, READER),
    "stream reader": (PLANNING, f"{SOURCE}\nDefaultSource(OPTIONS).streamReader(default_schema())"),
    "read task": (
        TASK,
        f"{READER}\nassert sum(b.num_rows for part in reader.partitions() for b in reader.read(part)) >= 3",
    ),
    "writer": (PLANNING, WRITER),
    "write task": (
        TASK,
        f"{WRITER}\nimport pyarrow as pa\n"
        "assert writer.write(iter([pa.record_batch({'data': ['x']})])).totals.user_records == 1",
    ),
}
LEFT = """
import sys
print(*(path for path, finder in sys.path_importer_cache.items() if hasattr(finder, "archive")))
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PySpark as an archive, as Spark's workers have it. The tests' own PySpark is unpacked."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    root, packed = Path(spec.origin).parent, tmp_path_factory.mktemp("spark") / "pyspark.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in (file.relative_to(root) for file in root.rglob("*.*") if file.suffix in (".py", ".json")):
            if file.parts[0] not in ("python", "examples", "data"):
                archive.write(root / file, Path("pyspark", file))
    return packed


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    with EmulatorProcess() as emulator:
        stream = StreamUnderTest(emulator.endpoint_url)
        for _ in range(3):
            stream.put(b"x")
        yield stream.options()


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_left(part: str, archive: Path, options: dict[str, str]) -> None:
    """Each part of a query ends without a finder that Spark would invalidate."""
    before, code = PARTS[part]
    script = f"{before}\nOPTIONS = {options!r}\n{code}\n{LEFT}"
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
