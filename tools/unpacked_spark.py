"""
Unpacks the archives from which Spark's Python processes import PySpark, into folders of the same names.

Python reads the list of files in an archive once for each package in it, and caches no bytecode of its modules. So each of
these processes, of which tests start thousands, would spend half a second on that. Run it in the environment of that PySpark.
"""

from __future__ import annotations

import compileall
import importlib.util
import re
import shutil
import warnings
import zipfile
from pathlib import Path


def unpack(archive: Path) -> None:
    """Replace *archive* by a folder with its files and their bytecode. No other process may import from it meanwhile."""
    folder = archive.with_suffix(".new")
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as files:
        files.extractall(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark's own warnings
        compileall.compile_dir(folder, quiet=2, rx=re.compile("/tests/"))
    archive.unlink()
    folder.rename(archive)


def main() -> None:
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return
    for archive in Path(pyspark.origin).parent.glob("python/lib/*.zip"):
        if archive.is_file():
            unpack(archive)


if __name__ == "__main__":
    main()
