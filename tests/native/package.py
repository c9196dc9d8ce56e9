"""The package in Rust, for tests that compare it with Python."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

import pytest


def require_native() -> ModuleType:
    """Return kinesis-native. Without it the tests of a module are skipped, but they fail where witnesses are required."""
    if os.environ.get("REQUIRE_WITNESS") == "1":
        return import_module("kinesis_native")
    found: ModuleType = pytest.importorskip("kinesis_native", reason="it is built where there is Rust")
    return found
