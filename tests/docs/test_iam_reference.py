"""The reference page of permissions is generated from the declared calls, and its policies allow them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import botocore.session
import pytest

from kinesis_core.aws import CALLS, KEY_USES, ApiCall

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "iam.md"


def policies() -> dict[str, set[str]]:
    """Return the actions of each policy on the page, by its title."""
    found = {}
    for title, block in re.findall(
        r"^### (.+?)\n.*?```json\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    ):
        statements = json.loads(block)["Statement"]
        found[title] = {action for statement in statements for action in statement["Action"]}
    return found


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
def test_calls(call: ApiCall) -> None:
    """Each declared call is an operation of AWS, and is on the page with each of its uses and its quota."""
    assert call.operation in botocore.session.get_session().get_service_model(call.service).operation_names
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{call.iam_action}` |")]
    assert len(rows) == len(call.uses)
    for row, use in zip(rows, call.uses, strict=True):
        assert use.when in row
        assert call.quota in row
