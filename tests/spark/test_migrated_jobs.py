"""
Jobs written for other connectors: the examples on the pages of those connectors, with all options that belong together.

Only the last example, which writes counts, writes the rows as they were read. Spark offers the mode `update` to no sink written in
Python, and `append` to no count without a watermark; and a row of counts has no partition key, which the old sinks need.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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

PROGRAM = Path(__file__).parent / "jobs" / "migrated_job.py"
WORDS = ["Kinesis", "Connector", "for", "Apache", "Spark", "for"]
COUNTS = {"Kinesis": 1, "Connector": 1, "for": 2, "Apache": 1, "Spark": 1}


ROLE_ARN = "arn:aws:iam::222222222222:role/reader"
AWSLABS = {
    "kinesis.region": "us-east-2",
    "kinesis.streamName": "teststream",
    "kinesis.startingposition": "LATEST",
}
AWSLABS_SOURCE = {
    **AWSLABS,
    "kinesis.consumerType": "GetRecords",
    "kinesis.failOnDataLoss": "false",
    "kinesis.maxFetchRecordsPerShard": "100000",
    "kinesis.maxFetchTimePerShardSec": "30",
    "kinesis.describeShardInterval": "1s",
    "kinesis.minBatchesToRetain": "100",
    "kinesis.checkNewRecordThreads": "8",
    "kinesis.metadataCommitterType": "HDFS",
    "kinesis.metadataPath": "metadata",
    "kinesis.metadataNumRetries": "5",
    "kinesis.metadataRetryIntervalsMs": "1000",
    "kinesis.metadataMaxRetryIntervalMs": "10000",
    "kinesis.clientNumRetries": "5",
    "kinesis.clientRetryIntervalsMs": "1000",
    "kinesis.clientMaxRetryIntervalMs": "10000",
    "kinesis.kinesisRegion": "us-east-2",
    "kinesis.getRecords.numberOfRecordsPerFetch": "10000",
    "kinesis.getRecords.fetchIntervalMs": "200",
    "kinesis.internal.dataQueueCapacity": "1000",
    "kinesis.stsRoleArn": ROLE_ARN,
    "kinesis.stsSessionName": "StsSessionName",
}
AWSLABS_SINK = {
    "kinesis.region": "us-east-2",
    "kinesis.streamName": "sparkSinkTest",
    "kinesis.sink.flushWaitTimeMs": "100",
    "kinesis.sink.recordMaxBufferedTimeMs": "1000",
    "kinesis.sink.maxConnections": "1",
    "kinesis.sink.aggregationEnabled": "true",
    "kinesis.sink.recordTtl": "30000",
}
KEYS = {"awsAccessKeyId": "AKIAEXAMPLE", "awsSecretKey": "example-secret"}
QUBOLE_SOURCE = {
    **KEYS,
    "streamName": "spark-streaming-example",
    "startingposition": "TRIM_HORIZON",
    "failondataloss": "true",
    "kinesis.executor.maxFetchTimeInMs": "1000",
    "kinesis.executor.maxFetchRecordsPerShard": "100000",
    "kinesis.executor.maxRecordPerRead": "10000",
    "kinesis.executor.addIdleTimeBetweenReads": "false",
    "kinesis.executor.idleTimeBetweenReadsInMs": "1000",
    "kinesis.client.describeShardInterval": "1s",
    "kinesis.client.numRetries": "3",
    "kinesis.client.retryIntervalMs": "1000",
    "kinesis.client.maxRetryIntervalMs": "10000",
    "kinesis.client.avoidEmptyBatches": "true",
}
QUBOLE_SINK = {
    **KEYS,
    "streamName": "spark-sink-example",
    "kinesis.executor.recordMaxBufferedTime": "1000",
    "kinesis.executor.maxConnections": "1",
    "kinesis.executor.aggregationEnabled": "true",
    "kniesis.executor.flushwaittimemillis": "100",
}
DATABRICKS_SOURCE = {
    "streamName": "clicks,views",
    "region": "us-west-2",
    "initialPosition": "earliest",
    "awsAccessKey": "AKIAEXAMPLE",
    "awsSecretKey": "example-secret",
    "roleArn": ROLE_ARN,
    "roleExternalId": "an-external-id",
    "roleSessionName": "databricks",
    "maxRecordsPerFetch": "10000",
    "maxFetchRate": "1.0",
    "minFetchPeriod": "400ms",
    "maxFetchDuration": "10s",
    "fetchBufferSize": "20gb",
    "shardsPerTask": "5",
    "shardFetchInterval": "1s",
    "consumerMode": "polling",
}
GLUE_SOURCE = {
    "typeOfData": "kinesis",
    "classification": "json",
    "inferSchema": "true",
    "startingPosition": "earliest",
    "failOnDataLoss": "False",
    "maxFetchTimeInMs": "1000",
    "maxFetchRecordsPerShard": "100000",
    "maxRecordPerRead": "10000",
    "addIdleTimeBetweenReads": "False",
    "idleTimeBetweenReadsInMs": "1000",
    "describeShardInterval": "1s",
    "numRetries": "3",
    "retryIntervalMs": "1000",
    "maxRetryIntervalMs": "10000",
    "avoidEmptyBatches": "False",
    "addRecordTimestamp": "true",
    "emitConsumerLagMetrics": "true",
    "awsSTSRoleARN": ROLE_ARN,
    "awsSTSSessionName": "glue",
}
GLUE_SINK = {
    "recordMaxBufferedTime": "1000",
    "aggregationEnabled": "true",
    "aggregationMaxSize": "51200",
    "aggregationMaxCount": "4294967295",
    "producerRateLimit": "150",
    "collectionMaxCount": "500",
    "collectionMaxSize": "5242880",
}
DATABRICKS_SCHEMA = (
    "partitionKey string, data binary, stream string, shardId string, sequenceNumber string, "
    "approximateArrivalTimestamp timestamp"
)


@define
class Job:
    """A program in a process of its own. Its environment has no AWS settings but keys and the test's servers."""

    folder: Path
    environment: dict[str, str]
    _process: subprocess.Popen[bytes] = field(init=False)
    _starts: int = field(default=0, init=False)

    def start(self) -> Job:
        self._starts += 1
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, PROGRAM, self.folder],
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


MakeJob = Callable[..., Job]


@pytest.fixture
def sts_url() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def make_job(tmp_path: Path, sts_url: str) -> Iterator[MakeJob]:
    """Return a function that starts a job."""
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
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    def start(
        source: dict[str, str],
        sink: dict[str, str] | None = None,
        spark_format: str = "kinesis",
        schema: str = "",
        keys: Sequence[str] = (),
        *,
        once: bool = False,
    ) -> Job:
        program = {"source": source, "sink": sink, "format": spark_format, "schema": schema, "keys": keys}
        folder = tmp_path / "job"
        folder.mkdir()
        jobs.append(Job(folder, environment | {"JOB": json.dumps({**program, "once": once})}))
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
    where = {"kinesis.endpointUrl": kinesis.endpoint_url}
    job = make_job({**AWSLABS_SOURCE, **where}, {**AWSLABS_SINK, **where}, "aws-kinesis")
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
    consumer = {"kinesis.consumerType": "SubscribeToShard", "kinesis.consumerName": "TestConsumer"}
    job = make_job(
        {**AWSLABS, **consumer, "kinesis.endpointUrl": kinesis.endpoint_url}, spark_format="aws-kinesis"
    )
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
    where = {"endpointUrl": kinesis.endpoint_url}
    job = make_job({**QUBOLE_SOURCE, **where}, {**QUBOLE_SINK, **where})
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
    given = {**DATABRICKS_SOURCE, "endpoint": kinesis.endpoint_url}
    job = make_job(given, schema=DATABRICKS_SCHEMA, keys=["stream"], once=True)
    output = job.finish()
    assert are_of_sessions(callers.keys("GetRecords"))
    counts = Counter[str]()
    for stream, word, count in re.findall(
        r"\|\s*(\w+)\|\s*(\w+)\|\s*(\d+)\|\n", output.rpartition("Batch: ")[2]
    ):
        counts[f"{stream}/{word}"] += int(count)
    assert counts == {f"clicks/{word}": count for word, count in COUNTS.items()} | {"views/Kinesis": 1}


@pytest.mark.parametrize("kinesis", ["us-east-1"], indirect=True)
def test_glue(kinesis: Emulator, make_job: MakeJob, callers: Callers) -> None:
    """A job with all options of Glue's Kinesis connection runs under the name that is free on Glue, with a role."""
    source = StreamUnderTest(kinesis.endpoint_url, "orders", 2, kinesis.settings.region)
    sink = StreamUnderTest(kinesis.endpoint_url, "copies", 2, kinesis.settings.region)
    source.put(*WORDS)
    arns = [
        stream.client.describe_stream_summary(StreamName=stream.name)["StreamDescriptionSummary"]["StreamARN"]
        for stream in (source, sink)
    ]
    where = {"endpointUrl": kinesis.endpoint_url}
    job = make_job(
        {**GLUE_SOURCE, **where, "streamARN": arns[0]},
        {**GLUE_SINK, **where, "streamARN": arns[1]},
        "aws-kinesis",
    )
    job.wait_for(lambda: last_counts(job.output.read_text()) == COUNTS)
    job.wait_for(lambda: written(kinesis, sink) == COUNTS)
    job.finish()
    assert are_of_sessions(callers.keys("GetRecords"))
