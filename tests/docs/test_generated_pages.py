"""Each reference page is the one that its generator writes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EVERY_PAGE = pytest.mark.parametrize("name", ["options", "iam", "events", "errors", "columns", "commands"])
CHANGES = {
    "options": ("10000", "20000"),
    "iam": ("kinesis:GetRecords", "kinesis:Get*"),
    "events": ("| `data.lost` | WARNING |", "| `data.lost` | INFO |"),
    "columns": ("| `partitionKey` | string | may be null |", "| `partitionKey` | string | never |"),
    "commands": ("| `--where` |  | Only", "| `--where` |  | All"),
    "errors": ("Raise the stream's retention first.", "Set failOnDataLoss=false first."),
}
"""A part of each page, and what somebody writes instead by hand."""


def generate(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"docs.generate_{name}", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@EVERY_PAGE
def test_page_is_current(name: str) -> None:
    """The page in the repository is the one that its generator writes."""
    checked = generate(ROOT, name, "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@EVERY_PAGE
def test_stale_page(name: str, tmp_path: Path) -> None:
    """A page that differs is an error, and the check prints the difference. Writing the page again corrects it."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = tmp_path / "docs" / "reference" / f"{name}.md"
    generated, by_hand = CHANGES[name]
    current = page.read_text()
    page.write_text(current.replace(generated, by_hand))
    checked = generate(tmp_path, name, "--check")
    assert checked.returncode == 1
    assert [line for line in checked.stdout.splitlines() if line.startswith("-") and by_hand in line]
    assert generate(tmp_path, name).returncode == 0
    assert page.read_text() == current


@EVERY_PAGE
def test_missing_page(name: str, tmp_path: Path) -> None:
    """A page that does not exist fails the check, and is written."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = tmp_path / "docs" / "reference" / f"{name}.md"
    current = page.read_text()
    page.unlink()
    assert generate(tmp_path, name, "--check").returncode == 1
    assert generate(tmp_path, name).returncode == 0
    assert page.read_text() == current
