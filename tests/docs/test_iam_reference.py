"""The reference page of permissions is generated from the declared calls, and its policies allow them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import botocore.session
import pytest

from kinesis_core.aws import CALLS, KEY_USES, Call

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "iam.md"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "docs.generate_iam", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def policies() -> dict[str, set[str]]:
    """Return the actions of each policy on the page, by its title."""
    found = {}
    for title, block in re.findall(
        r"^### (.+?)\n.*?```json\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    ):
        statements = json.loads(block)["Statement"]
        found[title] = {action for statement in statements for action in statement["Action"]}
    return found


def test_page_is_current() -> None:
    """The page in the repository is the one that its generator writes."""
    checked = run(ROOT, "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_stale_page(tmp_path: Path) -> None:
    """A page that differs is an error and is shown as a difference. Generating it again repairs it."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = tmp_path / "docs" / "reference" / "iam.md"
    page.write_text(page.read_text().replace("kinesis:GetRecords", "kinesis:Get*"))
    checked = run(tmp_path, "--check")
    assert checked.returncode == 1
    assert '-        "kinesis:Get*"' in checked.stdout
    assert run(tmp_path).returncode == 0
    assert page.read_text() == PAGE.read_text()


def test_policies() -> None:
    """The policies allow every declared action and no other, by purpose."""
    found = policies()
    assert set().union(*found.values()) == {use.iam_action for use in (*CALLS, *KEY_USES)}
    assert found["Reading by polling"] == {
        "kinesis:DescribeStreamSummary",
        "kinesis:ListShards",
        "kinesis:GetShardIterator",
        "kinesis:GetRecords",
    }
    assert found["Writing"] == {"kinesis:DescribeStreamSummary", "kinesis:ListShards", "kinesis:PutRecords"}
    assert found["Reading by polling"] < found["Reading by enhanced fan-out"]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.iam_action)
def test_calls(call: Call) -> None:
    """Each declared call is an operation of AWS, and is on the page with each of its uses and its quota."""
    assert call.operation in botocore.session.get_session().get_service_model(call.service).operation_names
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{call.iam_action}` |")]
    assert len(rows) == len(call.uses)
    for row, use in zip(rows, call.uses, strict=True):
        assert use.when in row
        assert call.quota in row
