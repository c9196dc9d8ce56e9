"""A Python that is too old gets a sentence, and still finds other data sources."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HALVES = ("source", "sink")
PYSPARK = """
import sys
from types import ModuleType
for name in ("pyspark", "pyspark.sql", "pyspark.sql.datasource"):
    sys.modules[name] = ModuleType(name)
sys.modules["pyspark.sql.datasource"].DataSource = type("DataSource", (), {})
"""
"""The class of PySpark that a module of ours needs. An old Python here has no packages."""


def files(half: str) -> tuple[Path, Path]:
    source = ROOT / "packages" / f"spark-kinesis-{half}" / "src"
    return source / f"pyspark_kinesis_{half}.py", source / f"spark_kinesis_{half}" / "__init__.py"


@pytest.mark.parametrize("half", HALVES)
def test_first_modules_parse(half: str) -> None:
    """The modules that are imported first have no syntax of newer Pythons."""
    for path in files(half):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


@pytest.mark.parametrize("half", HALVES)
def test_old_python(half: str) -> None:
    """Spark can list the data source, and creating it raises an error that names the version and what to set."""
    module = files(half)[0]
    script = f"""{PYSPARK}
import pyspark_kinesis_{half} as found
assert found.DefaultSource.name() == "kinesis"
found.DefaultSource({{}})
"""
    ran = _run(script, module.parent)
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: spark_kinesis_{half} needs Python 3.10 or later")
    assert "Set PYSPARK_PYTHON" in last


def _run(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run *script* with Python 3.9, or with this Python made to look like it."""
    old = shutil.which("python3.9")
    if old and subprocess.run([old, "-c", ""], capture_output=True, check=False).returncode:
        old = None  # it is a launcher of Pythons that are not installed
    look_old = "" if old else "import sys; sys.version_info = (3, 9, 18)\n"
    environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [old or sys.executable, "-c", look_old + script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
