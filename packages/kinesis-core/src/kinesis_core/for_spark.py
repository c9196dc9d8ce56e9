"""Helpers that both Spark packages use. This module does not import Spark."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from kinesis_core.errors import KinesisError
from kinesis_credentials import CredentialsError

FREEZING_TASKS = 2
"""The first task of a worker imports most modules, the second one imports the rest."""

_tasks = 0


def freeze_heap() -> None:
    """
    Exclude all live objects from garbage collection. Each task calls this; only the first tasks of a worker do it.

    Spark collects garbage between two tasks of a worker, and a collection visits every object of every imported
    module. After this call it visits only newer objects, which saves time in every task. The cost: objects that are alive now
    and become part of a reference cycle later are never freed.
    """
    global _tasks
    if _tasks < FREEZING_TASKS:
        _tasks += 1
        gc.collect()
        gc.freeze()


@contextmanager
def plain_errors() -> Iterator[None]:
    """
    Raise the errors of our packages without their causes. Works as a context manager and as a decorator.

    Spark prints an error's traceback with all its causes, so botocore's frames would hide the sentence that says
    what to do. Nothing is lost: the message holds AWS's code and request id.
    """
    try:
        yield
    except (KinesisError, CredentialsError) as error:
        error.__cause__ = None
        error.__suppress_context__ = True
        raise


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
