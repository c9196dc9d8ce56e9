"""Helpers that both Spark packages use. This module does not import Spark."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from importlib import import_module
from os.path import basename, dirname, samefile
from threading import Lock
from types import ModuleType
from typing import Any

from kinesis_core.errors import ProcessLimit, ProcessLimitError, PutError
from kinesis_core.threads import find_limits
from kinesis_credentials import KinesisError

FREEZING_TASKS = 2
"""The first task of a worker imports most modules, the second one imports the rest."""

ASK_TIMEOUT_S = 20
"""Time for a Python to start and say whether it has a package."""

_MEMORY_SETTINGS = {
    "PYSPARK_EXECUTOR_MEMORY_MB": "spark.executor.pyspark.memory, which is divided by the cores of the executor",
    "PYSPARK_PLANNER_MEMORY_MB": "spark.sql.planner.pythonExecution.memory",
}
"""By the environment variable in which Spark passes it to a process of Python."""

_SPARK_ARCHIVE = re.compile(r"pyspark\.zip|py4j-.*-src\.zip|spark-core_.*\.jar")

_changing_python = Lock()  # all threads share Spark's context
_tasks = 0


def freeze_heap() -> None:
    """
    Exclude all live objects from garbage collection. Each task calls this; only the first tasks of a worker do it.

    Spark collects garbage between two tasks of a worker, and a collection visits every object of every imported
    module. After this call it visits only newer objects, which saves time in every task. The cost: garbage that was not collected
    yet is never freed. The same holds for objects that later become part of a reference cycle. In a new worker that is a few
    hundred objects. To collect them first takes 20 ms of CPU, and Spark collects before the second task itself.
    """
    global _tasks
    if _tasks < FREEZING_TASKS:
        _tasks += 1
        gc.freeze()


def forget_archives() -> None:
    """
    Let Python forget the finders of modules in Spark's own archives. It makes new ones when it needs them, from what it has read.

    Spark invalidates all finders of a worker before each of its tasks. Python up to 3.12 then reads the table of contents of
    `pyspark.zip` again for each package in it. It does the same for two more archives. This takes 70 to 90 ms of CPU in every
    task. Spark's archives stay the same while a worker runs. The finders of all other archives stay, because those may change.
    """
    for path, finder in list(
        sys.path_importer_cache.items()
    ):  # a copy: other threads may import at the same time
        if _is_of_spark(finder):
            sys.path_importer_cache.pop(path, None)


def _is_of_spark(finder: object) -> bool:
    archive = getattr(finder, "archive", None)
    return isinstance(archive, str) and _SPARK_ARCHIVE.fullmatch(basename(archive)) is not None


class plain_errors(ContextDecorator):  # noqa: N801 - used like a function, as those of contextlib
    """
    Raise the errors of our packages in the words of Spark, without their causes and without our frames. A context manager and a
    decorator.

    Spark prints an error's traceback with all its causes, so botocore's frames and ours would hide the sentence that says
    what to do. Nothing is lost: the message holds AWS's code and request id. An error about memory names Spark's setting,
    if Spark limits the memory of this process.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, BaseException):
            error = _about_memory(error) or error
        if isinstance(error, KinesisError):
            raise _in_words_of_spark(error).with_traceback(None) from None


def _in_words_of_spark(error: KinesisError) -> KinesisError:
    from kinesis_core.options import SPARK  # most processes meet no error

    error.words = SPARK
    return error


def _about_memory(error: BaseException) -> ProcessLimitError | None:
    """Return the error that says what to do if *error* is about memory, and a limit of the process explains it."""
    if isinstance(error, MemoryError):
        found = find_limits().no_memory()
    elif isinstance(error, PutError) and isinstance(error.__cause__, MemoryError):
        found = find_limits().no_memory(str(_in_words_of_spark(error)))
    else:
        found = error if isinstance(error, ProcessLimitError) else None
    if found is None or found.limit is not ProcessLimit.ADDRESS_SPACE:
        return found
    setting = next(
        (setting for variable, setting in _MEMORY_SETTINGS.items() if variable in os.environ), None
    )
    found.advice += () if setting is None else (f"In Spark, that is {setting}.",)
    return found


def import_other_half(package: str, purpose: str) -> ModuleType:
    """
    Import *package*, the optional Spark package that *purpose* (reading or writing) needs.

    Raises:
        ImportError: *package* is not installed (the message says what to install), or it cannot be imported.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
    name = package.replace("_", "-")
    raise ImportError(f"{purpose} needs the package {name}: pip install {name}", name=package)


def find_python(configured: str, package: str, master: str) -> str:
    """
    Return the Python that Spark shall run *package* with: *configured*, where that one has the package.

    Spark's own choice is `python3` from PATH, unless PYSPARK_PYTHON says otherwise. That is another Python than this one in a
    program of a virtual environment that is not activated. If Spark runs inside this machine, this Python is always right.
    On a cluster it may not exist, so nobody but the user can choose, and a warning says so. It is no error: Spark can also
    bring the package to its workers by itself, as a file.
    """
    if not sys.executable or _is_this_python(configured) or _has(configured, package):
        return configured  # a Python inside another program has no executable
    if master.split("[")[0] == "local":
        return sys.executable
    warnings.warn(
        f"Spark runs Python with '{configured}', which does not have {package} on this machine. This program runs with "
        f"{sys.executable}. If Spark does not find {package}, set PYSPARK_PYTHON, before the session starts, to a Python that has "
        f"it on the driver and on the executors: export PYSPARK_PYTHON={sys.executable}",
        RuntimeWarning,
        stacklevel=6,  # where the user calls `register`
    )
    return configured


def _is_this_python(configured: str) -> bool:
    """Return whether *configured* is the Python of this program, under this or another name in the same folder."""
    found, this = shutil.which(configured), sys.executable
    return found is not None and samefile(dirname(found), dirname(this)) and samefile(found, this)


def _has(python: str, package: str) -> bool:
    """Return whether *python* finds *package*, from another folder than the current one, as in Spark's workers."""
    import subprocess  # only `register` needs it

    look = (
        "import sys; sys.path[:] = filter(None, sys.path); "  # the current folder is an empty text, if it is there
        f"from importlib.util import find_spec; sys.exit(not find_spec('{package}'))"
    )
    try:
        ran = subprocess.run([python, "-c", look], capture_output=True, check=False, timeout=ASK_TIMEOUT_S)  # noqa: S603 - the user's own Python
    except subprocess.TimeoutExpired:
        return True  # nobody knows; Spark's own error follows if it has not
    except OSError:
        return False
    return ran.returncode == 0


def register_with(spark: Any, package: str, *sources: type) -> None:
    """Register data sources of *package* with *spark*, except those that Spark has found by itself."""
    with _python_with(spark, package):
        for source in sources:
            try:
                spark.dataSource.register(source)
            except Exception as error:
                # Spark 4.0 refuses a name that it has found. Later versions accept it again.
                condition = getattr(error, "getCondition", None)
                if condition is None or condition() != "DATA_SOURCE_ALREADY_EXISTS":
                    raise


@contextmanager
def _python_with(spark: Any, package: str) -> Iterator[None]:
    """
    Let *spark* register data sources for a Python that can import *package*. A session of Spark Connect does not need it: there
    the server has its own Python.
    """
    context = getattr(spark, "_sc", None)
    if context is None:
        yield
        return
    with _changing_python:
        configured = context.pythonExec
        context.pythonExec = find_python(configured, package, context.master)
        try:
            yield
        finally:
            context.pythonExec = configured
