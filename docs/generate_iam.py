"""Write the tables and policies in docs/reference/iam.md from the declared calls to AWS: `python -m docs.generate_iam [--check]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from docs.sections import render_rows, update
from kinesis_core.aws import CALLS, KEY, KEY_USES, ApiCall, Location, Purpose, Resource

PAGE = Path(__file__).parent / "reference" / "iam.md"


class Policy(NamedTuple):
    """What a policy allows: the calls for some purposes, and the uses of keys for some."""

    purposes: tuple[Purpose, ...]
    keys: tuple[Purpose, ...] = ()


POLICIES = {
    "reading_by_polling": Policy((Purpose.SOURCE,)),
    "reading_by_enhanced_fan_out": Policy((Purpose.SOURCE, Purpose.FAN_OUT)),
    "writing": Policy((Purpose.SINK,)),
    "publishing_progress": Policy((Purpose.LEASE_TABLE,)),
    "sharing_a_stream": Policy((Purpose.GROUP_TABLE,)),
    "starting_at_a_kcl_application": Policy((Purpose.KCL_TABLE,)),
    "reading_an_encrypted_stream": Policy((), (Purpose.SOURCE, Purpose.FAN_OUT)),
    "writing_to_an_encrypted_stream": Policy((), (Purpose.SINK,)),
    "assuming_a_role": Policy((Purpose.ROLE,)),
}
"""By the section of the page that has it."""


def sections() -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the sections of the page."""
    yield "calls", _render_calls()
    yield "keys", _render_key_uses()
    yield "resources", _render_resources()
    for name, policy in POLICIES.items():
        yield name, ("```json", json.dumps(document(policy), indent=2), "```")


def document(policy: Policy) -> dict[str, object]:
    """Return *policy* in the form of IAM."""
    statements = [
        {"Effect": "Allow", "Action": actions, "Resource": [resource.arn for resource in resources]}
        for resources, actions in _actions_by_resources(policy).items()
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _actions_by_resources(policy: Policy) -> dict[tuple[Resource, ...], list[str]]:
    found: dict[tuple[Resource, ...], list[str]] = {}
    for call in CALLS:
        if any(use.purpose in policy.purposes for use in call.uses):
            found.setdefault(_sorted(call.resources), []).append(call.iam_action)
    keys = dict.fromkeys(use.iam_action for use in KEY_USES if use.purpose in policy.keys)
    if keys:
        found[KEY,] = list(keys)
    return found


def _sorted(resources: Iterable[Resource]) -> tuple[Resource, ...]:
    return tuple(sorted(resources, key=lambda resource: resource.arn))


def _render_calls() -> Iterator[str]:
    for purpose in Purpose:
        calls = [call for call in CALLS if any(use.purpose is purpose for use in call.uses)]
        yield from (f"## Calls: {purpose.value}", "", *_render_calls_for(calls, purpose), "")


def _render_calls_for(calls: Iterable[ApiCall], purpose: Purpose) -> list[str]:
    rows = (
        (
            f"`{call.iam_action}`",
            ", ".join(resource.name for resource in call.resources),
            _list_locations(use.locations),
            use.when,
            call.quota,
        )
        for call in calls
        for use in call.uses
        if use.purpose is purpose
    )
    return render_rows(("action", "on", "from", "when", "quota"), rows)


def _render_key_uses() -> list[str]:
    rows = (
        (
            f"`{use.iam_action}`",
            KEY.name,
            _list_locations(use.locations),
            ", ".join(use.calls),
            use.purpose.value,
        )
        for use in KEY_USES
    )
    return render_rows(("action", "on", "from", "used by Kinesis for", "of"), rows)


def _render_resources() -> list[str]:
    return render_rows(("resource", "ARN"), ((r.name, f"`{r.arn}`") for r in _list_resources()))


def _list_resources() -> Iterator[Resource]:
    yield from dict.fromkeys(resource for call in CALLS for resource in call.resources)
    yield KEY


def _list_locations(locations: Iterable[Location]) -> str:
    return " and ".join(location.value for location in locations)


if __name__ == "__main__":
    sys.exit(update(PAGE, dict(sections()), sys.argv[1:]))
