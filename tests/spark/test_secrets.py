"""Nothing that a query leaves behind has a secret in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinesis_emulator import Emulator
from support.streams import StreamUnderTest

JOB = Path(__file__).parents[1] / "support" / "jobs" / "talkative_job.py"
LOG4J = """\
rootLogger.level = debug
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c: %m%n%ex
"""
DEFAULTS = """\
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.driver.extraJavaOptions -Dlog4j2.configurationFile=file:{log4j}
spark.eventLog.dir file:{events}
spark.eventLog.enabled true
spark.sql.maxMetadataStringLength 100000
spark.sql.shuffle.partitions 2
spark.ui.enabled false
"""
KEYS = {
    "awsAccessKeyId": "AKIAKEYIDTHATISSECRET",
    "awsSecretKey": "SecretKeyNobodyMaySee",
    "sessionToken": "SessionTokenNobodyMaySee",
}


def _run_job(emulator: Emulator, secrets: dict[str, str], left: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the job with everything it leaves behind in the folder *left*."""
    (left / "events").mkdir(parents=True)
    conf = left.with_name("conf")
    conf.mkdir()
    (conf / "log4j2.properties").write_text(LOG4J.format(file=left / "spark.log"))
    (conf / "spark-defaults.conf").write_text(
        DEFAULTS.format(log4j=conf / "log4j2.properties", events=left / "events")
    )
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "AWS_CONFIG_FILE": os.devnull,
        "ENDPOINT_URL": emulator.endpoint_url,
        "PYSPARK_PYTHON": sys.executable,
        "SECRET_OPTIONS": "\n".join(f"{name}={value}" for name, value in secrets.items()),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return subprocess.run(
        [sys.executable, JOB, left],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


@pytest.mark.parametrize("secrets", [KEYS], ids=["keys"])
def test_no_secret(emulator: Emulator, secrets: dict[str, str], tmp_path: Path) -> None:
    """Logs of driver and workers, event log, plans, progress, checkpoints, errors and reprs show none of the secrets."""
    orders = StreamUnderTest(emulator.endpoint_url, "orders", 2)
    StreamUnderTest(emulator.endpoint_url, "copies", 2)
    orders.put_numbers(50)
    left = tmp_path / "left"
    ran = _run_job(emulator, secrets, left)
    assert ran.returncode == 0, ran.stdout.decode()
    files = {str(file.relative_to(left)): file.read_bytes() for file in left.rglob("*") if file.is_file()}
    assert {name.split("/")[0] for name in files} == {"spark.log", "events", "looked", "copied"}
    assert b"****CRET" in ran.stdout  # options were shown
    everything = {"what the job printed": ran.stdout, **files}
    found = {
        (place, name)
        for place, content in everything.items()
        for name, secret in secrets.items()
        if secret.encode() in content
    }
    assert not found
