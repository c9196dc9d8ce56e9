"""A pytest plugin with the fixture `kinesis_emulator`. pytest loads it once this package is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kinesis_emulator import Emulator


@pytest.fixture
def kinesis_emulator() -> Iterator[Emulator]:
    """Yield a new `Emulator` without rate limits."""
    from kinesis_emulator import Emulator, Limits, Settings

    with Emulator(settings=Settings(limits=Limits.unlimited())) as emulator:
        yield emulator
