"""Imports between the packages go in one direction. The session `alone` also installs each package by itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.imported import imported_by

OURS = {
    "kinesis_credentials",
    "kinesis_core",
    "kinesis_consumer",
    "kinesis_cli",
    "kinesis_emulator",
    "spark_kinesis_source",
    "spark_kinesis_sink",
}
MAY_IMPORT = {
    "kinesis-credentials": {"attrs", "botocore"},
    "kinesis-emulator": {"pytest"},
    "kinesis-core": {
        *("attrs", "botocore", "kinesis_credentials", "msgspec"),
        "urllib3",  # botocore depends on it and raises its errors
        *("pyarrow", "pandas", "cbor2", "h2", "httpx2"),
    },
    "kinesis-consumer": {"attrs", "kinesis_core", "kinesis_credentials", "msgspec", "pyarrow"},
    "kinesis-cli": {
        *("attrs", "cyclopts", "jq", "kinesis_core", "kinesis_credentials", "msgspec", "rich"),
        *("fsspec", "prometheus_client", "pyarrow", "textual"),
    },
    "spark-kinesis-source": {
        *("attrs", "kinesis_core", "kinesis_credentials", "pyarrow", "pyspark"),
        *("opentelemetry", "prometheus_client"),
    },
    "spark-kinesis-sink": {"attrs", "kinesis_core", "kinesis_credentials", "pyarrow", "pyspark"},
}
"""Apart from the standard library and itself."""
MAY_ONLY = {
    "pyarrow": {"kinesis_core/reading/arrow/arrays.py", "kinesis_core/reading/arrow/batch_builder.py"},
    "pandas": set[str](),
    "cbor2": {"kinesis_core/aws/fast/wire_cbor.py"},
    "httpx2": {"kinesis_core/aws/http2.py"},
    "h2": {"kinesis_core/aws/http2.py"},
    "pytest": {"kinesis_emulator/pytest_plugin.py"},
}
"""For each optional package: the modules that may import it."""
DELEGATING = {"data_source.py"}
"""In this module each Spark package delegates to the other one, if that is installed."""


def top_level_imports(tree: ast.AST) -> Iterator[str]:
    """Yield what importing the module imports: nothing inside functions, nothing for type checkers."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pass
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case _:
                yield from top_level_imports(node)


def all_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module


def modules(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((folder / "src").rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def foreign(names: Iterator[str], package: str) -> set[str]:
    """Return the top-level packages among *names* that belong neither to Python nor to *package*."""
    found = {name.partition(".")[0] for name in names}
    return found - set(sys.stdlib_module_names) - {package.replace("-", "_")}


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_imports(folders: dict[str, Path], package: str) -> None:
    """A package imports only its declared dependencies, and of ours only the packages below it."""
    for path, tree in modules(folders[package]):
        wrong = foreign(all_imports(tree), package) - MAY_IMPORT[package]
        if path.name in DELEGATING:
            wrong -= {"spark_kinesis_source", "spark_kinesis_sink"}
        assert not wrong, path


@pytest.mark.parametrize("extra", sorted(MAY_ONLY))
def test_extras_are_optional(folders: dict[str, Path], extra: str) -> None:
    """Only the modules for an extra import it at their top level."""
    package = "kinesis-emulator" if extra == "pytest" else "kinesis-core"
    source = folders[package] / "src"
    users = {
        str(path.relative_to(source))
        for path, tree in modules(folders[package])
        if extra in foreign(top_level_imports(tree), package)
    }
    assert users == MAY_ONLY[extra]


@pytest.mark.parametrize("package", ["spark-kinesis-source", "spark-kinesis-sink"])
def test_other_half_is_optional(folders: dict[str, Path], package: str) -> None:
    """Each Spark package can be imported without the other."""
    for path, tree in modules(folders[package]):
        others = {"spark_kinesis_source", "spark_kinesis_sink"} - {package.replace("-", "_")}
        assert not foreign(top_level_imports(tree), package) & others, path


@pytest.mark.parametrize("extra", ["opentelemetry", "prometheus_client"])
def test_metrics_are_optional(folders: dict[str, Path], extra: str) -> None:
    """No module imports a package of metrics at its top level, and nothing outside of the folder imports that folder."""
    for path, tree in modules(folders["spark-kinesis-source"]):
        assert extra not in foreign(top_level_imports(tree), "spark-kinesis-source"), path
        if "metrics" not in path.parts:
            assert "spark_kinesis_source.metrics" not in all_imports(tree), path


HEAVY = {
    "boto3",
    "h2",
    "httpx2",
    "numpy",
    "opentelemetry",
    "pandas",
    "prometheus_client",
    "pyarrow",
    "rich",
    "sqlite3",
}
"""Packages that take long to import, and that only tasks, some users or enabled log events need."""


@pytest.mark.parametrize(
    "package",
    [
        "kinesis_credentials",
        "kinesis_core",
        "kinesis_consumer",
        "kinesis_cli",
        "spark_kinesis_source",
        "spark_kinesis_sink",
    ],
)
def test_importing_imports_nothing_heavy(package: str) -> None:
    """Importing a package imports nothing heavy that Spark has not imported already."""
    assert not HEAVY & {name.partition(".")[0] for name in imported_by(f"import {package}")}


def test_reading_imports_no_leases() -> None:
    """Only a start where a KCL application stopped needs the code of lease tables."""
    code = """
from kinesis_core import Stream
from kinesis_emulator import Emulator
from kinesis_emulator.client_settings import environment
import os
with Emulator() as emulator:
    emulator.create_stream("orders", 1)
    os.environ.update(environment(emulator.endpoint_url, emulator.settings.region))
    with Stream.open("orders") as stream:
        assert list(stream.read("TRIM_HORIZON").records()) == []
"""
    found = imported_by(code)
    assert "kinesis_core.batch" in found
    assert not {name for name in found if name.startswith("kinesis_core.leases")}
