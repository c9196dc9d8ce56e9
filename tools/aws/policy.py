"""The IAM policy that a run needs: on names with its prefix, and on nothing else."""

from __future__ import annotations

import json
from typing import Any

from kinesis_core.aws import CALLS, Purpose
from tools.aws.guard import KINESIS_CALLS, NAMELESS, TABLE_CALLS
from tools.aws.ledger import PREFIX

_PURPOSES = {Purpose.SOURCE, Purpose.SINK, Purpose.FAN_OUT, Purpose.GROUP_TABLE}
_TAGGING = ("kinesis:AddTagsToStream", "kinesis:TagResource", "dynamodb:TagResource")
"""AWS asks for them where a resource is created with tags."""
_SERVICES = {"ListStreams": "kinesis", "ListTables": "dynamodb"}
_RESOURCES = {
    "kinesis": [f"arn:aws:kinesis:*:*:stream/{PREFIX}*"],
    "dynamodb": [f"arn:aws:dynamodb:*:*:table/{PREFIX}*"],
}
"""A star takes a slash as well: consumers and indexes have the name of their stream or table first."""


def document() -> dict[str, Any]:
    """Return the policy in the form of IAM."""
    actions = {call.iam_action for call in CALLS if any(use.purpose in _PURPOSES for use in call.uses)}
    actions |= {f"kinesis:{call}" for call in KINESIS_CALLS} | {f"dynamodb:{call}" for call in TABLE_CALLS}
    actions.update(_TAGGING)
    on_ours = [
        {
            "Effect": "Allow",
            "Action": sorted(action for action in actions if action.startswith(f"{service}:")),
            "Resource": resources,
        }
        for service, resources in _RESOURCES.items()
    ]
    nameless = sorted(f"{_SERVICES[call]}:{call}" for call in NAMELESS)
    return {
        "Version": "2012-10-17",
        "Statement": [*on_ours, {"Effect": "Allow", "Action": nameless, "Resource": ["*"]}],
    }


def text() -> str:
    return json.dumps(document(), indent=2)
