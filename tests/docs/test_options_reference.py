"""The reference page of the options matches the declarations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

DOCS = Path(__file__).parents[2] / "docs"
TABLES = (SOURCE_OPTIONS, SINK_OPTIONS)


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False
    )


def test_page_is_current() -> None:
    """The page in the repository is what its generator writes."""
    checked = run(DOCS / "generate_options.py", "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_stale_page(tmp_path: Path) -> None:
    """A page that differs is an error, and the check prints the difference. Writing the page again corrects it."""
    script = tmp_path / "generate_options.py"
    script.write_text((DOCS / "generate_options.py").read_text())
    assert run(script, "--check").returncode == 1
    assert run(script).returncode == 0
    assert run(script, "--check").returncode == 0
    page = tmp_path / "reference" / "options.md"
    page.write_text(page.read_text().replace("10000", "20000"))
    checked = run(script, "--check")
    assert checked.returncode == 1
    assert "-| `maxRecordsPerFetch` |" in checked.stdout


def test_page_names_everything() -> None:
    """Every accepted name is on the page."""
    page = (DOCS / "reference" / "options.md").read_text()
    names = [option.name for table in TABLES for option in table.options]
    names += [alias.name for table in TABLES for option in table.options for alias in option.aliases]
    names += [name for table in TABLES for unsupported in table.unsupported for name in unsupported.names]
    names += [
        name
        for table in TABLES
        for ignored_options in table.ignored_options
        for name in ignored_options.names
    ]
    assert [name for name in names if f"`{name}`" not in page] == []
