"""
What each Python process of Spark imports for one query.

Spark starts a process to list data sources, to create the source, to plan the read and to plan the batches of a stream, and workers
for the tasks. What only one of them needs is imported there alone. None of this is measured as time.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.imported import imported_by

OPTIONS = {
    "streamName": "orders",
    "region": "us-east-1",
    "awsAccessKeyId": "AKIAEXAMPLE",
    "awsSecretKey": "secret",
}
NEVER = {
    "numpy",
    "pandas",
    "kinesis_core.leases",
    "kinesis_core.producing",
    "kinesis_core.stream",
}
"""What no process needs that reads a stream by polling and logs nothing. (Spark has imported numpy in some of them.)"""
AWS = {"botocore", "urllib3", "kinesis_core.aws.clients", "kinesis_credentials.sessions"}
TASK = {"pyarrow", "kinesis_core.reading.arrow", "kinesis_core.reading.polling"}
PLANNER = {"kinesis_core.planning.planner", "kinesis_core.planning.stream_planner"}
OPTION_MODULES = {"kinesis_core.options", "spark_kinesis_source.options"}
LOOKUP = "import pyspark.sql.worker.lookup_data_sources"
CREATION = "import pyspark.sql.worker.create_data_source"
PLANNING = "import pyspark.sql.worker.plan_data_source_read"
TASK_WORKER = "import pickle, pyspark.worker, pyarrow"
CLIENT = """
from kinesis_core.aws import StreamRef, stream_client

stream_client(reader.options.connection, StreamRef("orders"))
"""


def reader_by(method: str, **more: str) -> str:
    """Return code that creates a reader, with more options."""
    return f"""
from pyspark_kinesis_source import DefaultSource
from spark_kinesis_source import default_schema

reader = DefaultSource({OPTIONS | more}).{method}(default_schema())
"""


@pytest.mark.parametrize("half", ["source", "sink"])
def test_listing_data_sources(half: str) -> None:
    """Spark imports one module of each package to list the data sources, and that one imports nothing of ours."""
    module = f"pyspark_kinesis_{half}"
    listing = f"import {module}; assert {module}.DefaultSource.name() == 'kinesis'"
    assert imported_by(listing, after=LOOKUP) == {module}


def test_creating_the_source() -> None:
    """`load()` checks the options and the stream. That needs a client, but no planner and nothing of a task."""
    check = "from spark_kinesis_source.planner_factory import check_streams"
    new = imported_by(f"{check}\n{reader_by('streamReader')}{CLIENT}", after=CREATION)
    assert new >= AWS
    assert not new & (NEVER | TASK | PLANNER)


def test_planning_the_read_of_a_stream() -> None:
    """Spark creates a reader to pickle it for the tasks. That reads the options, and calls nobody."""
    pickled = "import pickle; assert b'botocore' not in pickle.dumps(reader)"
    new = imported_by(reader_by("streamReader") + pickled, after=PLANNING)
    assert new >= OPTION_MODULES
    assert not new & (NEVER | AWS | TASK | PLANNER)


def test_planning_the_read_at_an_endpoint() -> None:
    """Whether an endpoint belongs to AWS is in botocore's data. They are read without botocore's code."""
    new = imported_by(reader_by("streamReader", endpointUrl="http://127.0.0.1:9"), after=PLANNING)
    assert {name for name in new if name.startswith(("botocore", "urllib3"))} == {"botocore"}


def test_planning_batches() -> None:
    """The planner needs no Arrow, and nothing that reads ranges."""
    new = imported_by("from kinesis_core.planning import BatchGate, PlanAhead, Planner", after=CREATION)
    assert new >= PLANNER
    assert not new & (NEVER | TASK)


@pytest.mark.parametrize("kind", ["reader", "streamReader"])
def test_a_task(kind: str) -> None:
    """A pickled reader is unpickled as what a task needs: without the options, their parsers and the planner."""
    pickled = f"{reader_by(kind)}\nimport pickle\nprint(pickle.dumps(reader))"
    done = subprocess.run([sys.executable, "-c", pickled], capture_output=True, text=True, check=True)
    new = imported_by(f"pickle.loads({done.stdout.strip()}).read", after=TASK_WORKER)
    assert "spark_kinesis_source.task" in new
    assert not new & (NEVER | OPTION_MODULES | PLANNER | {"spark_kinesis_source.reader"})
