"""The code in the README runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kinesis_emulator import Emulator

README = Path(__file__).parents[3] / "packages" / "kinesis-emulator" / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_of_code_runs(block: str, kinesis_emulator: Emulator) -> None:
    """Every Python block of the README runs; test functions in it are called with the fixture."""
    namespace: dict[str, Any] = {}
    exec(block, namespace)  # noqa: S102 - our own README
    for name, function in namespace.items():
        if name.startswith("test_"):
            function(kinesis_emulator)
