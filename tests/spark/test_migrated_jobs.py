"""
Jobs written for other connectors, translated from Scala to Python and otherwise unchanged.

They are the examples on the pages of those connectors, with all options that belong together. Only the last example, which
writes counts, is changed to write the rows as they were read. Spark offers the mode `update` to no sink written in Python, and
`append` to no count without a watermark; and a row of counts has no partition key, which the old sinks need.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import define, field
from moto.server import ThreadedMotoServer

from kinesis_emulator import Emulator, Limits, Settings
from spark.written import user_records
from support.callers import Callers
from support.python_starts import is_to_start_again
from support.spark_harness import CONFIG
from support.streams import KEY_ID, SECRET, StreamUnderTest
from support.waiting import wait_until

JOBS = Path(__file__).parent / "jobs"
WORDS = ["Kinesis", "Connector", "for", "Apache", "Spark", "for"]
COUNTS = {"Kinesis": 1, "Connector": 1, "for": 2, "Apache": 1, "Spark": 1}


@define
class Job:
    """A program in a process of its own. Its environment has no AWS settings but keys and the test's servers."""

    name: str
    folder: Path
    environment: dict[str, str]
    _process: subprocess.Popen[bytes] = field(init=False)
    _starts: int = field(default=0, init=False)

    def start(self) -> Job:
        self._starts += 1
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, JOBS / f"{self.name}.py", self.folder],
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return self

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"

    def wait_for(self, is_done: Callable[[], bool]) -> None:
        def is_so() -> bool:
            assert self._goes_on() or is_done(), self.output.read_text()
            return is_done()

        wait_until(is_so, self.output.read_text)

    def finish(self) -> str:
        """Ask the job to stop, and return its output."""
        (self.folder / "STOP_LOCK").touch()
        wait_until(lambda: not self._goes_on(), self.output.read_text)
        assert self._process.returncode == 0, self.output.read_text()
        return self.output.read_text()

    def _goes_on(self) -> bool:
        """Return whether it has not ended. It is started again if a query failed because Spark did not wait for it."""
        if is_to_start_again(self.output.read_text(), self._starts):
            self.kill()
            self.start()
        return self._process.poll() is None

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


MakeJob = Callable[[str, str], Job]


@pytest.fixture
def sts_url() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def make_job(tmp_path: Path, sts_url: str) -> Iterator[MakeJob]:
    """Return a function that starts a job by name against a Kinesis at an endpoint."""
    jobs: list[Job] = []
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text("\n".join(f"{key} {value}" for key, value in CONFIG.items()))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_ENDPOINT_URL_STS": sts_url,
        "PYSPARK_PYTHON": sys.executable,
        "ROLE_ARN": "arn:aws:iam::222222222222:role/reader",
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    def start(name: str, endpoint_url: str) -> Job:
        folder = tmp_path / name
        folder.mkdir()
        jobs.append(Job(name, folder, environment | {"ENDPOINT_URL": endpoint_url}))
        return jobs[-1].start()

    yield start
    for job in jobs:
        job.kill()


def last_counts(output: str) -> dict[str, int]:
    """Return the last table of words and counts that the console sink printed; the word is the last column but one."""
    last = output.rpartition("Batch: ")[2]
    return {word: int(count) for word, count in re.findall(r"\|\s*(\w+)\|\s*(\d+)\|\n", last)}


def are_of_sessions(keys: set[str]) -> bool:
    """Return whether all access keys belong to assumed roles."""
    return bool(keys) and all(key.startswith("ASIA") for key in keys)


def written(emulator: Emulator, stream: StreamUnderTest) -> Counter[str]:
    return Counter(record.data.decode() for record in user_records(emulator, stream.name))


@pytest.fixture
def kinesis(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """An emulator in the region that the job names."""
    with Emulator(settings=Settings(limits=Limits.unlimited(), region=request.param)) as running:
        yield running


@pytest.fixture
def callers(kinesis: Emulator) -> Callers:
    """The calls that the job makes."""
    kinesis.settings.fault = callers = Callers()
    return callers


@pytest.mark.parametrize("kinesis", ["us-east-2"], indirect=True)
def test_awslabs(kinesis: Emulator, make_job: MakeJob, callers: Callers) -> None:
    """The examples of the awslabs connector run with its option names and a role, and one line that registers its format."""
    source = StreamUnderTest(kinesis.endpoint_url, "teststream", 2, kinesis.settings.region)
    sink = StreamUnderTest(kinesis.endpoint_url, "sparkSinkTest", 2, kinesis.settings.region)
    job = make_job("awslabs_job", kinesis.endpoint_url)
    first_batches = [job.folder / name / "commits" / "0" for name in ("counts", "copies")]
    job.wait_for(lambda: all(file.exists() for file in first_batches))
    source.put(*WORDS)
    job.wait_for(lambda: last_counts(job.output.read_text()) == COUNTS)
    job.wait_for(lambda: written(kinesis, sink) == COUNTS)
    assert " |-- approximateArrivalTimestamp: timestamp (nullable = true)" in job.finish()
    assert are_of_sessions(callers.keys("GetRecords"))
    assert callers.keys("PutRecords") == {KEY_ID}


@pytest.mark.parametrize("kinesis", ["us-east-2"], indirect=True)
def test_awslabs_fan_out(kinesis: Emulator, make_job: MakeJob, callers: Callers) -> None:
    """The awslabs connector's example of enhanced fan-out runs with its option names."""
    source = StreamUnderTest(kinesis.endpoint_url, "teststream", 2, kinesis.settings.region)
    job = make_job("awslabs_fan_out_job", kinesis.endpoint_url)
    job.wait_for((job.folder / "counts" / "commits" / "0").exists)
    source.put(*WORDS)
    job.wait_for(lambda: last_counts(job.output.read_text()) == COUNTS)
    job.finish()
    assert callers.keys("SubscribeToShard")


@pytest.mark.parametrize("kinesis", ["us-east-1"], indirect=True)
def test_qubole(kinesis: Emulator, make_job: MakeJob) -> None:
    """The examples of the qubole connector run with its option names, including the misspelt one."""
    source = StreamUnderTest(kinesis.endpoint_url, "spark-streaming-example", 2, kinesis.settings.region)
    sink = StreamUnderTest(kinesis.endpoint_url, "spark-sink-example", 2, kinesis.settings.region)
    source.put(*WORDS, key="1")
    job = make_job("qubole_job", kinesis.endpoint_url)
    job.wait_for(lambda: last_counts(job.output.read_text()) == COUNTS)
    job.wait_for(lambda: written(kinesis, sink) == COUNTS)
    assert " |-- sequenceNumber: string (nullable = true)" in job.finish()


@pytest.mark.parametrize("kinesis", ["us-west-2"], indirect=True)
def test_databricks(kinesis: Emulator, make_job: MakeJob, callers: Callers) -> None:
    """A job for the Databricks connector runs with its option names and a role. A schema gives it that connector's columns."""
    clicks = StreamUnderTest(kinesis.endpoint_url, "clicks", 1, kinesis.settings.region)
    views = StreamUnderTest(kinesis.endpoint_url, "views", 2, kinesis.settings.region)
    clicks.put(*WORDS)
    views.put("Kinesis")
    output = make_job("databricks_job", kinesis.endpoint_url).finish()
    assert are_of_sessions(callers.keys("GetRecords"))
    counts = Counter[str]()
    for stream, word, count in re.findall(
        r"\|\s*(\w+)\|\s*(\w+)\|\s*(\d+)\|\n", output.rpartition("Batch: ")[2]
    ):
        counts[f"{stream}/{word}"] += int(count)
    assert counts == {f"clicks/{word}": count for word, count in COUNTS.items()} | {"views/Kinesis": 1}
