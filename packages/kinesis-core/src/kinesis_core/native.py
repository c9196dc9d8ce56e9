"""
The optional package kinesis-native, which does the work on bytes faster: whether this process uses it, and its functions.

Every function in it has a twin in Python that defines what the result is. The native one returns None for input that it does
not recognise, and the caller then calls the Python one.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from typing import Any

from attrs import frozen

from kinesis_core.errors import OptionError
from kinesis_core.version import __version__
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

SWITCH = "KINESIS_NATIVE"
"""The environment variable that turns the package off with 0."""
_PACKAGE = "kinesis_native"


@frozen
class Runtime:
    """
    Whether this process uses kinesis-native, and why not.

    Attributes:
        native: Whether kinesis-native decodes and encodes. Otherwise Python does.
        reason: Why kinesis-native is not used. Empty if it is used.
    """

    native: bool
    reason: str


def runtime() -> Runtime:
    """
    Return whether this process uses kinesis-native.

    Raises:
        OptionError: The environment variable KINESIS_NATIVE is neither 0 nor 1.
    """
    return _find()[1]


@lru_cache(maxsize=1)
def find_native() -> Any:
    """
    Return the package kinesis-native, or None if this process does not use it. The first call imports and logs it.

    Raises:
        OptionError: The environment variable KINESIS_NATIVE is neither 0 nor 1.
    """
    package, found = _find()
    log.debug("native.chosen", native=found.native, reason=found.reason)
    return package


def check_switch() -> None:
    """
    Check the environment variable that turns the package off. It imports nothing.

    Raises:
        OptionError: It is neither 0 nor 1.
    """
    switch = os.environ.get(SWITCH, "1")
    if switch not in ("0", "1"):
        raise OptionError(f"The environment variable {SWITCH} is '{switch}'. Use 0 or 1.")


def _find() -> tuple[Any, Runtime]:
    check_switch()
    if os.environ.get(SWITCH) == "0":
        return None, Runtime(False, f"{SWITCH}=0")
    try:
        package = import_module(_PACKAGE)
    except ModuleNotFoundError as error:
        if error.name == _PACKAGE:
            return None, Runtime(False, "kinesis-native is not installed")
        return _unusable(str(error))
    except ImportError as error:  # built for another system
        return _unusable(str(error))
    if package.__version__ != __version__:
        return _unusable(f"it has version {package.__version__}, and kinesis-core has {__version__}")
    return package, Runtime(True, "")


def _unusable(why: str) -> tuple[None, Runtime]:
    reason = f"kinesis-native cannot be used: {why}"
    log.warning("native.ignored", reason=reason)
    return None, Runtime(False, reason)
