"""What a program pays for the import of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.tests
def test_a_program_of_threads_does_without_asyncio() -> None:
    """`import kinesis_consumer` does not import asyncio: a program that uses it has it already."""
    program = "import sys, kinesis_consumer; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
