"""The reference page of errors has every exception that users see, and says what to do about it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import pytest

from docs.generate_errors import PACKAGES, errors_of, explain

ERRORS = [error for package in PACKAGES for error in errors_of(package)]
INTERNAL = {
    "BadMemberError": "the control endpoint of the emulator answers with it",
    "BadUrlError": "who makes a client turns it into an error that names the setting",
    "BadValueError": "the option tables turn it into an OptionError",
    "ClosedError": "the threads of a reader end with it when nobody reads any more",
    "CutConnectionError": "the emulator closes the connection",
    "DryRunSucceededError": "the check of permissions catches it",
    "IteratorExpiredError": "readers and planners get a new iterator",
    "LeaseItemError": "a group passes over the item",
    "NoRoomError": "the call is made again once there is room for its response",
    "NotCborError": "`translate` turns it into a WireFormatError",
    "MalformedKeysError": "the source of the keys turns it into its own error",
}
"""Exceptions that reach no user, each with the reason."""
OPTIONAL = {
    "kinesis_core.aws.http2",
    "kinesis_core.aws.fast.wire_cbor",
    "kinesis_core.polars",
    "kinesis_emulator.pytest_plugin",
}
"""Modules that need an extra, and define no exceptions."""


def defined() -> Iterator[type[Exception]]:
    """Yield the exceptions that all modules of the packages define, apart from private ones."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name not in OPTIONAL and not module.name.endswith("__main__"):
                for name, found in vars(importlib.import_module(module.name)).items():
                    is_own = inspect.isclass(found) and found.__module__ == module.name
                    if is_own and issubclass(found, Exception) and not name.startswith("_"):
                        yield found


def test_every_exception_is_exported_or_internal() -> None:
    """An exception that users may catch is exported by its package. The others are listed here."""
    assert {error.__name__ for error in {*defined()} - {*ERRORS}} == set(INTERNAL)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_docstrings_say_what_to_do(error: type[Exception]) -> None:
    """The docstring of an exception says what happened, and what to do; that of a base class only what it is."""
    explained = explain(error)
    assert explained.happened.endswith(".")
    assert explained.remedy.endswith(".") or explained.happened.startswith("Base class")


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_docstrings_have_all_attributes(error: type[Exception]) -> None:
    """The docstring of an exception explains every attribute that its class adds."""
    is_base = "retryable" in vars(error) and "retryable" not in dir(error.__bases__[0])
    source = inspect.getsource(error.__init__) if "__init__" in vars(error) else ""
    added = {*re.findall(r"self\.(\w+) =", source), *(["retryable"] if is_base else [])}
    assert set(explain(error).attributes) == added
