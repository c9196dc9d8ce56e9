"""Each reference page is the one that its generator writes."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EVERY_PAGE = pytest.mark.parametrize(
    "name", ["options", "iam", "events", "errors", "columns", "commands", "sdks", "faithful"]
)
CHANGES = {
    "options": ("10000", "20000"),
    "iam": ("kinesis:GetRecords", "kinesis:Get*"),
    "events": ("| `data.lost` | WARNING |", "| `data.lost` | INFO |"),
    "columns": ("| `partitionKey` | string | may be null |", "| `partitionKey` | string | never |"),
    "commands": ("| `--where` |  | Only", "| `--where` |  | All"),
    "sdks": ("| `CreateStream` | yes |", "| `CreateStream` | no |"),
    "faithful": ("No credentials are needed", "Credentials are checked"),
    "errors": ("The expired records stay lost.", "Set failOnDataLoss=false first."),
}
"""A part of each page, and what somebody writes instead by hand."""
Generate = Callable[..., object]


@pytest.fixture
def generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generate:
    """Return a function that runs the generator of a page on a copy of it, here and not in a process, and returns the status."""
    (tmp_path / "reference").mkdir()
    (tmp_path / "cli").symlink_to(ROOT / "docs" / "cli")  # the page of commands links to pages that exist

    def run(name: str, *arguments: str) -> object:
        program = str(shutil.copy(ROOT / "docs" / f"generate_{name}.py", tmp_path))
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(program, run_name="__main__")
        return ended.value.code

    return run


@EVERY_PAGE
def test_page_is_current(name: str) -> None:
    """The page in the repository is the one that its generator writes."""
    command = [sys.executable, "-m", f"docs.generate_{name}", "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@EVERY_PAGE
def test_stale_page(
    name: str, generate: Generate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that differs is an error, and the check prints the difference. Writing the page again corrects it."""
    page = tmp_path / "reference" / f"{name}.md"
    generated, by_hand = CHANGES[name]
    current = (ROOT / "docs" / "reference" / f"{name}.md").read_text()
    page.write_text(current.replace(generated, by_hand))
    assert generate(name, "--check") == 1
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.startswith("-") and by_hand in line]
    assert generate(name) == 0
    assert page.read_text() == current
