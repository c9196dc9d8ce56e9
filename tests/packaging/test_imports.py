"""Imports between the packages go in one direction. The session `alone` also installs each package by itself."""

from __future__ import annotations

import sys

import pytest

from support.imported import imported_by
from support.sources import IMPORTS, Import, When, is_within

MAY_IMPORT = {
    "kinesis_credentials": {"attrs", "botocore"},
    "kinesis_emulator": {"cryptography", "h2", "pytest"},
    "kinesis_core": {
        *("attrs", "botocore", "kinesis_credentials", "msgspec"),
        "urllib3",  # botocore depends on it and raises its errors
        *("pyarrow", "pandas", "cbor2", "h2", "httpx2", "polars"),
    },
    "kinesis_consumer": {"attrs", "kinesis_core", "kinesis_credentials", "msgspec", "pyarrow"},
    "kinesis_cli": {
        *("attrs", "cyclopts", "jq", "kinesis_core", "kinesis_credentials", "msgspec", "rich"),
        *("fsspec", "kinesis_consumer", "prometheus_client", "pyarrow", "textual"),
    },
    "spark_kinesis_source": {
        *("attrs", "kinesis_core", "kinesis_credentials", "pyarrow", "pyspark"),
        *("opentelemetry", "prometheus_client"),
    },
    "spark_kinesis_sink": {"attrs", "kinesis_core", "kinesis_credentials", "pyarrow", "pyspark"},
}
"""Apart from the standard library and itself."""
OPTIONAL = {
    "kinesis_core": {
        "pyarrow": {"reading.arrow.arrays", "reading.arrow.batch_builder"},
        "pandas": set[str](),
        "cbor2": {"aws.fast.wire_cbor"},
        "httpx2": {"aws.http2"},
        "h2": {"aws.http2"},
        "polars": {"polars"},
    },
    "kinesis_cli": {"kinesis_consumer": set[str]()},
    "kinesis_emulator": {"cryptography": {"certificates"}, "h2": {"http2"}, "pytest": {"pytest_plugin"}},
    "spark_kinesis_source": {
        "opentelemetry": set[str](),
        "prometheus_client": set[str](),
        "spark_kinesis_sink": set[str](),
    },
    "spark_kinesis_sink": {"spark_kinesis_source": set[str]()},
}
"""What is not installed with each package, and the modules that need it: only they import it at their top level."""
DELEGATING = {"spark_kinesis_source.data_source", "spark_kinesis_sink.data_source"}
"""In this module each Spark package delegates to the other one, if that is installed."""


def imports_in(package: str) -> list[Import]:
    """Return the imports of *package*, and of the module by which Spark finds it."""
    return [found for found in IMPORTS if found.module.partition(".")[0] in {package, f"py{package}"}]


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_imports(package: str) -> None:
    """A package imports only its declared dependencies, and of ours only the packages below it."""
    wrong = [
        found
        for found in imports_in(package)
        if found.library not in {package, *sys.stdlib_module_names, *MAY_IMPORT[package]}
        if not (found.module in DELEGATING and f"{found.library}.data_source" in DELEGATING)
    ]
    assert not wrong


@pytest.mark.parametrize("package", sorted(OPTIONAL))
def test_extras_are_optional(package: str) -> None:
    """Only the modules for an extra, or for the other half, import it at their top level."""
    found = [each for each in imports_in(package) if each.when is When.LOADED]
    assert {
        extra: {each.module.partition(".")[2] for each in found if each.library == extra}
        for extra in OPTIONAL[package]
    } == OPTIONAL[package]


def test_metrics_are_optional() -> None:
    """Nothing outside of the folder of metrics imports that folder."""
    metrics = "spark_kinesis_source.metrics"
    assert not [each for each in IMPORTS if each.source == metrics and not is_within(each.module, metrics)]


HEAVY = {
    "boto3",
    "h2",
    "httpx2",
    "numpy",
    "opentelemetry",
    "pandas",
    "polars",
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


def test_the_emulator_loads_protocols_on_demand() -> None:
    """The command serves its first call soon, because it imports HTTP/2 and TLS only when a client speaks them."""
    found = {name.partition(".")[0] for name in imported_by("import kinesis_emulator.cli")}
    assert not found & {"cryptography", "h2", "ssl"}


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
