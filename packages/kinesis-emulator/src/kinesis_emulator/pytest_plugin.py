"""A pytest fixture; pytest finds it by itself once this package is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kinesis_emulator import Emulator


@pytest.fixture
def kinesis_emulator() -> Iterator[Emulator]:
    """Yield a fresh `Emulator` without rates."""
    from kinesis_emulator import Emulator, Limits, Settings

    with Emulator(settings=Settings(limits=Limits.unlimited())) as emulator:
        yield emulator
