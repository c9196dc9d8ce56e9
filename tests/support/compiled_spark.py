"""
Adds bytecode to the archive from which Spark's Python processes import PySpark.

Python does not cache bytecode of modules in an archive. So each of these processes (tests start thousands) would spend
most of a second on compiling the same files. Run it in the environment of that PySpark.
"""

from __future__ import annotations

import importlib.util
import marshal
import shutil
import warnings
import zipfile
from pathlib import Path

UNCHECKED = (1).to_bytes(4, "little")
"""The flag of bytecode that is never compared with its source: see PEP 552."""


def bytecode(source: bytes, name: str) -> bytes:
    """Return the content of the .pyc file for *source*."""
    code = compile(source, name, "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(source) + marshal.dumps(code)


def compile_all(archive: Path) -> None:
    """Add the bytecode of all modules without any to *archive*. No other process may read it meanwhile."""
    made = archive.with_suffix(".new")
    shutil.copyfile(archive, made)  # the archive may be a link into a shared cache
    with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as files:
        names = set(files.namelist())
        for name in sorted(names):
            if name.endswith(".py") and f"{name}c" not in names:
                files.writestr(f"{name}c", bytecode(files.read(name), name))
    made.replace(archive)


def main() -> None:
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return
    archive = Path(pyspark.origin).with_name("python") / "lib" / "pyspark.zip"
    if archive.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PySpark's own warnings
            compile_all(archive)


if __name__ == "__main__":
    main()
