"""The source of Polars where Polars is not installed."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


def test_the_error_without_polars_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars is no dependency. Who imports the module without it reads what to install."""
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.delitem(sys.modules, "kinesis_core.polars", raising=False)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs polars: pip install 'kinesis-core\[polars\]'"
    ) as caught:
        import_module("kinesis_core.polars")
    assert caught.value.name == "polars"
