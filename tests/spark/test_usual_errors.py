"""Errors that docs/howto/read-an-error.md explains, as users meet them: the page quotes what really comes."""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from kinesis_emulator import Emulator
from spark.test_bare_executors import create_environment
from support import python_starts
from support.certificates import make_certificate
from support.streams import StreamUnderTest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "read-an-error.md").read_text(encoding="utf-8")
HEAD = """
import json, sys
from pyspark.sql import SparkSession

options = json.loads(sys.argv[1])
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
"""
LOAD = 'spark.read.format("kinesis").options(**options).load().count()\n'


def run_job(
    folder: Path,
    job: str,
    stream: StreamUnderTest,
    more: dict[str, str] | None = None,
    *,
    has_keys: bool = True,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run *job* as a program of its own."""
    (folder / "job.py").write_text(HEAD + job)
    options = {
        name: value for name, value in stream.options().items() if has_keys or not name.startswith("aws")
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    return python_starts.run(
        [sys.executable, "job.py", json.dumps(options | (more or {}))],
        cwd=folder,
        env={**kept, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, **variables},
    )


def test_another_python(stream: StreamUnderTest, tmp_path: Path) -> None:
    """Spark that runs a Python without our packages finds no data source, in a long text with one line of use."""
    python = create_environment(tmp_path / "other")
    ran = run_job(tmp_path, LOAD, stream, PYSPARK_PYTHON=str(python), PYTHONPATH="")
    [line] = re.findall(r"\[DATA_SOURCE_NOT_FOUND\] [^.]*\.", ran.stderr)
    assert line == "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kinesis."
    assert line in PAGE
    assert len(ran.stderr.splitlines()) > 100


SHOW = 'spark.read.format("kinesis").options(**options).load().show(2)\n'


def test_records_that_nobody_wants(emulator: Emulator, stream: StreamUnderTest, tmp_path: Path) -> None:
    """`show(2)` takes two rows of many. The Python that sends the others writes an error, and the result is right."""
    for number in range(1_500):
        emulator.put(stream.name, bytes(40_000), f"key-{number}")
    ran = run_job(tmp_path, SHOW, stream)
    assert ran.returncode == 0
    assert "only showing top 2 rows" in ran.stdout
    error = "BrokenPipeError: [Errno 32] Broken pipe"
    assert error in ran.stderr
    assert error in PAGE


VAULT = """
class Vault:
    def get_credentials(self):
        return {"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "example"}
"""


def test_a_provider_class_of_the_program(stream: StreamUnderTest, tmp_path: Path) -> None:
    """Other processes make the calls, and have no such class. The error says how to bring it to them."""
    ran = run_job(
        tmp_path, VAULT + LOAD, stream, {"credentialProviderClass": "__main__.Vault"}, has_keys=False
    )
    [line] = set(
        re.findall(r"^kinesis_credentials\.errors\.ProviderClassError: (.*)$", ran.stderr, re.MULTILINE)
    )
    assert (
        "'__main__.Vault' cannot be imported: AttributeError: module '__main__' has no attribute 'Vault'."
        in line
    )
    assert "call spark.sparkContext.addPyFile('vault.py')" in line
    assert "module '__main__' has no attribute 'Vault'" in PAGE


def test_a_provider_class_in_a_file(stream: StreamUnderTest, tmp_path: Path) -> None:
    """What the error advises works, on the driver and in tasks."""
    stream.put_numbers(3)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "vault.py").write_text(VAULT)
    job = 'spark.sparkContext.addPyFile("files/vault.py")\n' + LOAD.replace("count()", "show()")
    ran = run_job(tmp_path, job, stream, {"credentialProviderClass": "vault.Vault"}, has_keys=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count(stream.name) == 3


def test_an_unknown_authority(stream: StreamUnderTest, tmp_path: Path) -> None:
    """An endpoint or proxy with the certificate of a company's CA: the error names AWS_CA_BUNDLE."""
    certificate, key = make_certificate(tmp_path)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}"
        options = {"endpointUrl": url, "maxRetries": "0", "outageTimeout": "0"}
        ran = run_job(tmp_path, LOAD, stream, options)
        server.shutdown()
    [line] = set(re.findall(r"^kinesis_core\.errors\.UnavailableError: (.*)$", ran.stderr, re.MULTILINE))
    assert "CERTIFICATE_VERIFY_FAILED" in line
    assert "Set AWS_CA_BUNDLE to a file with the certificate of the CA" in line
    assert "CERTIFICATE_VERIFY_FAILED" in PAGE


SLEEPY = """#!/bin/sh
case "$*" in
*python_streaming_source_runner*) [ -e "{mark}" ] || {{ touch "{mark}"; exec sleep 60; }} ;;
esac
exec "{python}" "$@"
"""
PATIENT = """
query = start(
    spark.readStream.format("kinesis").options(**options).load().writeStream.format("memory").queryName("rows")
)
query.processAllAvailable()
print("ROWS", spark.table("rows").count())
query.stop()
"""


def test_a_process_that_is_slow_to_start(stream: StreamUnderTest, tmp_path: Path) -> None:
    """Spark ends a query whose planner does not connect within 10 s. What the page shows starts the query again."""
    stream.put_numbers(3)
    python, mark = tmp_path / "python3", tmp_path / "has-slept"
    python.write_text(SLEEPY.format(mark=mark, python=sys.executable))
    python.chmod(0o755)
    [shown] = re.findall(r"^import time\n.*?^    return query\n", PAGE, re.MULTILINE | re.DOTALL)
    ran = run_job(tmp_path, shown + PATIENT, stream, PYSPARK_PYTHON=str(python))
    assert mark.exists()
    assert "Python worker failed to connect back" in ran.stderr
    assert "ROWS 3" in ran.stdout, ran.stderr
