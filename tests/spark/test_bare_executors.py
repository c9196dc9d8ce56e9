"""A cluster whose executors have a Python with nothing installed, and the archive that brings what they need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from attrs import frozen

from support import python_starts
from support.spark_harness import CONFIG
from support.standalone import SPARK_CLASS, has_two_hosts, standalone
from support.streams import StreamUnderTest

JOB = Path(__file__).parent / "jobs" / "packed_job.py"
PACKED = "./environment/bin/python"
SETTINGS = {
    **CONFIG,
    "spark.cores.max": "1",  # one executor shows what several do
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": CONFIG["spark.driver.extraJavaOptions"],
    "spark.task.maxFailures": "1",
}

pytestmark = pytest.mark.skipif(not has_two_hosts(), reason="127.0.0.2 is not an address of this machine")


def create_environment(folder: Path) -> Path:
    """Create a virtual environment with nothing in *folder*, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


def clean_environment(**more: str) -> dict[str, str]:
    """Return an environment without the settings of these tests, which would lead every Python to their packages."""
    return {name: os.environ[name] for name in ("HOME", "PATH", "JAVA_HOME") if name in os.environ} | more


@frozen
class Cluster:
    """A cluster, and a folder with the archive `environment.tar.gz`."""

    url: str
    folder: Path

    def submit(
        self, folder: Path, stream: StreamUnderTest, *arguments: str, unpacked: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Submit the job with the archive from a new folder, and return its outcome."""
        archive = self.folder / "environment.tar.gz"
        if unpacked:
            (folder / "environment").mkdir()
            subprocess.run(["tar", "-xzf", archive, "-C", folder / "environment"], check=True)
        settings = [part for key, value in SETTINGS.items() for part in ("--conf", f"{key}={value}")]
        options = json.dumps(stream.options())
        path = os.pathsep.join(
            (str(folder / "environment" / "bin"), os.environ["PATH"])
        )  # as if it were active
        return python_starts.run(
            [
                *(str(SPARK_CLASS.with_name("spark-submit")), "--master", self.url, *settings),
                *("--archives", f"{archive}#environment", *arguments, str(JOB)),
            ],
            env=clean_environment(OPTIONS=options, SPARK_LOCAL_IP="127.0.0.1") | {"PATH": path} | variables,
            cwd=folder,
            stderr=subprocess.STDOUT,
        )


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of the cluster's machines."""
    return create_environment(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def cluster(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    python = create_environment(folder / "environment")
    [site] = python.parents[1].glob("lib/python*/site-packages")
    # It finds the packages of these tests here. A packed environment has copies, which changes nothing for Spark.
    lines = [
        f"import site; site.addsitedir({path!r})" for path in sys.path if path.endswith(("-packages", "src"))
    ]
    (site / "tests.pth").write_text("\n".join(lines))
    with tarfile.open(folder / "environment.tar.gz", "w:gz", compresslevel=1) as packed:
        packed.add(folder / "environment", ".")
    path = os.pathsep.join((str(bare.parent), os.environ["PATH"]))
    with standalone(folder, clean_environment(PYSPARK_PYTHON=str(bare)) | {"PATH": path}) as url:
        yield Cluster(url, folder)


@pytest.fixture
def numbered(stream: StreamUnderTest) -> StreamUnderTest:
    stream.put_numbers(20)
    return stream


def error_of(python: Path, code: str, *arguments: str) -> str:
    """Run *code* with *python*, and return what it writes to stderr."""
    command = [str(python), "-c", code, *arguments]
    return subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False
    ).stderr


@pytest.mark.parametrize("package", ["kinesis_core", "spark_kinesis_source", "pyarrow"])
def test_executors_have_nothing(bare: Path, package: str) -> None:
    """The Python of the executors has none of the packages."""
    assert f"No module named '{package}'" in error_of(bare, f"import {package}")


def test_zip_of_packages(bare: Path, tmp_path: Path) -> None:
    """`--py-files` cannot bring the packages: Python imports no compiled module from a zip file."""
    [folder] = import_module("msgspec").__path__
    archive = shutil.make_archive(str(tmp_path / "packages"), "zip", Path(folder).parent, "msgspec")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import msgspec"
    assert "No module named 'msgspec._core'" in error_of(bare, code, archive)


@pytest.mark.all_sparks
def test_packed_environment(cluster: Cluster, numbered: StreamUnderTest, tmp_path: Path) -> None:
    """Executors run the Python of the archive if the driver finds one at the same relative path."""
    ran = cluster.submit(tmp_path, numbered, PYSPARK_PYTHON=PACKED)
    assert ran.returncode == 0, ran.stdout
    printed = [line for line in ran.stdout.splitlines() if line.startswith("{")]  # Spark 4.0 logs after it
    result = json.loads(printed[-1])
    assert sorted(result["read"]) == sorted(payload.decode() for payload in numbered.payloads)
    assert Path(result["python"]).is_relative_to(cluster.folder / "work")
    assert result["python"].endswith(PACKED.removeprefix("."))


def test_not_unpacked(cluster: Cluster, numbered: StreamUnderTest, tmp_path: Path) -> None:
    """Without `./environment` in the driver's folder the job does not start: Spark unpacks it for executors only."""
    ran = cluster.submit(tmp_path, numbered, unpacked=False, PYSPARK_PYTHON=PACKED)
    assert ran.returncode != 0
    assert f'Cannot run program "{PACKED}"' in ran.stdout


def test_python_of_the_driver(cluster: Cluster, numbered: StreamUnderTest, tmp_path: Path) -> None:
    """With PYSPARK_DRIVER_PYTHON, executors run that Python, not the one of the archive."""
    ran = cluster.submit(tmp_path, numbered, PYSPARK_PYTHON=PACKED, PYSPARK_DRIVER_PYTHON="python")
    assert ran.returncode != 0
    assert "ModuleNotFoundError: No module named 'pyarrow'" in ran.stdout


def test_setting_alone(cluster: Cluster, numbered: StreamUnderTest, bare: Path, tmp_path: Path) -> None:
    """With the setting spark.pyspark.python alone, Spark looks for sources with the first python3 on the PATH."""
    path = os.pathsep.join((str(bare.parent), os.environ["PATH"]))
    ran = cluster.submit(tmp_path, numbered, "--conf", f"spark.pyspark.python={PACKED}", PATH=path)
    assert ran.returncode != 0
    assert "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kinesis" in ran.stdout
