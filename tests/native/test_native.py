"""Whether kinesis-native is used: by what is installed, its version, and the environment."""

from __future__ import annotations

import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import kinesis_core
from kinesis_core.errors import OptionError
from kinesis_core.native import SWITCH, Runtime, find_native, runtime
from native.package import require_native


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)


def test_it_is_used_where_it_is_installed() -> None:
    """An installed kinesis-native is used, and without it Python does the work."""
    missing = Runtime(False, "kinesis-native is not installed")
    assert kinesis_core.runtime() == (Runtime(True, "") if find_spec("kinesis_native") else missing)


def test_zero_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """KINESIS_NATIVE=0 turns it off, and 1 is the default."""
    monkeypatch.setenv(SWITCH, "1")
    assert "KINESIS_NATIVE" not in runtime().reason
    monkeypatch.setenv(SWITCH, "0")
    assert runtime() == Runtime(False, "KINESIS_NATIVE=0")


def test_other_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other value is an error that names the variable."""
    monkeypatch.setenv(SWITCH, "off")
    with pytest.raises(OptionError, match=r"KINESIS_NATIVE is 'off'\. Use 0 or 1."):
        runtime()


def test_another_version_is_ignored(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A kinesis-native of another version than kinesis-core is not used, and a warning says so."""
    other = ModuleType("kinesis_native")
    other.__version__ = "0.0.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kinesis_native", other)
    found = runtime()
    assert not found.native
    assert "it has version 0.0.1, and kinesis-core has" in found.reason
    assert "native.ignored" in caplog.text


def test_a_build_for_another_system_is_ignored(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """A kinesis-native that cannot be imported is not used, and a warning says why."""
    (tmp_path / "kinesis_native.py").write_text("raise ImportError('GLIBC_2.99 not found')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kinesis_native", raising=False)
    assert runtime() == Runtime(False, "kinesis-native cannot be used: GLIBC_2.99 not found")
    assert "native.ignored" in caplog.text


def test_it_is_looked_for_once(caplog: pytest.LogCaptureFixture) -> None:
    """A process looks for the package once, and one DEBUG line says which code runs."""
    caplog.set_level("DEBUG", "kinesis_core")
    find_native.cache_clear()
    assert find_native() is find_native()
    assert caplog.text.count("native.chosen") == 1


def test_the_lock_is_released() -> None:
    """While a page is decoded, other threads run Python."""
    native = require_native()
    record = b'{"SequenceNumber":"1","Data":"' + b"A" * 1_000_000 + b'"}'
    body = b'{"MillisBehindLatest":0,"Records":[' + b",".join([record] * 40) + b"]}"
    state = ""

    def decode() -> None:
        nonlocal state
        state = "decoding"
        native.decode_page(body, True)
        state = "decoded"

    def is_seen() -> bool:
        """Return whether this thread ran while the other one decoded. It never has to give up the lock otherwise."""
        thread = threading.Thread(target=decode)
        thread.start()
        seen = False
        while state != "decoded":
            seen = seen or state == "decoding"
            time.sleep(0)  # gives up the lock
        thread.join()
        return seen

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        # On a busy machine a decoder may be ready before this thread runs again.
        assert any(is_seen() for _ in range(100))
    finally:
        sys.setswitchinterval(interval_s)
