"""What the packages for Spark share. Nothing here imports Spark."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from kinesis_core.errors import KinesisError
from kinesis_credentials import CredentialsError

FREEZING_TASKS = 2
"""The first task imports most of what is ever imported, and leaves the rest to the second."""

_tasks = 0


def freeze_heap() -> None:
    """
    Take what is loaded by now out of the garbage collector's sight; called by each task, it does so in the first ones.

    Spark collects garbage between two tasks of a worker, and a collection looks at every object of every
    imported module: pandas, pyarrow and botocore make that 45 ms a task, against 2 ms afterwards. The price: what
    is alive now is freed by reference counting only, should it ever become garbage.
    """
    global _tasks
    if _tasks < FREEZING_TASKS:
        _tasks += 1
        gc.collect()
        gc.freeze()


@contextmanager
def plain_errors() -> Iterator[None]:
    """
    Let our errors through without their causes; usable as a decorator as well.

    Spark prints an error's traceback with all its causes, and would bury the sentence that says what to do
    under botocore's frames. The message carries AWS's code and request id already.
    """
    try:
        yield
    except (KinesisError, CredentialsError) as error:
        error.__cause__ = None
        error.__suppress_context__ = True
        raise


def import_other_half(package: str, purpose: str) -> ModuleType:
    """
    Import what serves *purpose*, reading or writing, and need not be installed.

    Raises:
        ImportError: *package* is not there, and the message says what to install; or it is, and cannot be imported.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
    name = package.replace("_", "-")
    raise ImportError(f"{purpose} needs the package {name}: pip install {name}", name=package)
