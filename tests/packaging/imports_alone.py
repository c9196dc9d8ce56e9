"""
Imports all modules of one package where only that package is installed, and reports what should not be there.

    python -I tests/packaging/imports_alone.py kinesis-core
    python -I tests/packaging/imports_alone.py spark-kinesis-source pyspark

The session `alone` runs it in an environment that holds the package's wheel and what that asks for. The second form is for
an environment that holds a PySpark besides, without which modules of the Spark packages cannot be imported.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec

OURS = {
    "kinesis_credentials",
    "kinesis_core",
    "kinesis_consumer",
    "kinesis_cli",
    "kinesis_emulator",
    "spark_kinesis_source",
    "spark_kinesis_sink",
}
OTHERS = {"pyspark", "pyarrow", "boto3", "cbor2", "httpx2", "polars", "pytest", "rich"}

INSTALLED = {
    "kinesis-credentials": {"kinesis_credentials"},
    "kinesis-emulator": {"kinesis_emulator"},
    "kinesis-core": {"kinesis_core", "kinesis_credentials"},
    "kinesis-consumer": {"kinesis_consumer", "kinesis_core", "kinesis_credentials"},
    "kinesis-cli": {"kinesis_cli", "kinesis_core", "kinesis_credentials", "rich"},
    "spark-kinesis-source": {"spark_kinesis_source", "kinesis_core", "kinesis_credentials", "pyarrow"},
    "spark-kinesis-sink": {"spark_kinesis_sink", "kinesis_core", "kinesis_credentials", "pyarrow"},
}
"""Which of OURS and OTHERS are installed with each package. No package installs PySpark: users bring their own."""

NEEDS_EXTRA = {
    "kinesis_core.reading.arrow": "pyarrow",
    "kinesis_core.reading.arrow.arrays": "pyarrow",
    "kinesis_core.reading.arrow.batch_builder": "pyarrow",
    "kinesis_core.aws.http2": "httpx2",
    "kinesis_core.polars": "polars",
    "kinesis_core.aws.fast.wire_cbor": "cbor2",
    "kinesis_cli.screens": "textual",
    "kinesis_emulator.certificates": "cryptography",
    "kinesis_emulator.http2": "h2",
    "kinesis_emulator.pytest_plugin": "pytest",
}
"""Modules that need an extra. Importing one without it raises an error that names the missing package."""
NEEDS_PYSPARK = {"spark-kinesis-source", "spark-kinesis-sink"}


def modules_of(package: str) -> list[str]:
    """Import *package*, and return the names of all its modules."""
    found = importlib.import_module(package)
    return [package, *(m.name for m in pkgutil.walk_packages(found.__path__, f"{package}."))]


def complaints(distribution: str, *besides: str) -> list[str]:
    package = distribution.replace("-", "_")
    present = {name for name in OURS | OTHERS if find_spec(name)}
    wanted = INSTALLED[distribution] | {*besides}
    wrong = [f"{name} is installed" for name in sorted(present - wanted)]
    wrong += [f"{name} is not installed" for name in sorted(wanted - present)]
    if distribution in NEEDS_PYSPARK and "pyspark" not in besides:
        return wrong
    if distribution == "kinesis-emulator":
        wrong += [f"{name} is installed" for name in packages_distributions() if name not in {package, "pip"}]
    for name in modules_of(package):
        extra = NEEDS_EXTRA.get(name)
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if extra is None or error.name != extra:
                wrong.append(f"{name} cannot be imported: {error}")
    return wrong


def main(distribution: str, *besides: str) -> int:
    wrong = complaints(distribution, *besides)
    for complaint in wrong:
        sys.stderr.write(f"{distribution} alone: {complaint}\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
