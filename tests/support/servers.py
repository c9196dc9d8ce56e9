"""Which servers a scenario runs against."""

from __future__ import annotations

import pytest

witnessed = pytest.mark.parametrize("endpoint_url", ["emulator", "kinesis-local"], indirect=True)
"""Runs a test against our emulator and against an independent one, so that ours cannot prove itself right."""
