"""
Write docs/reference/iam.md from the declarations of the calls to AWS.

    python -m docs.generate_iam           writes the page
    python -m docs.generate_iam --check   shows how the page differs from the declarations, and exits with 1
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen
from docs.generate_options import render_rows, update

from kinesis_core.aws import CALLS, KEY, KEY_USES, Call, Place, Purpose, Resource

PAGE = Path(__file__).parent / "reference" / "iam.md"
INTRODUCTION = """\
# IAM: calls, actions, quotas, policies

<!-- Made by docs/generate_iam.py from kinesis_core/aws/permissions.py. Change that, and run it again. -->

These are all calls to AWS that source and sink make, each with the IAM action that it needs, and AWS's quota of it. When a
permission is missing, the error names the action and what to allow it on.

## The check before a query starts

The driver checks at `load()` and `start()` that its credentials allow the calls on the stream. DescribeStreamSummary and
ListShards are carried out. GetShardIterator, GetRecords and PutRecords are dry runs (`DryRun`): Kinesis checks permissions
and parameters, reads nothing and writes nothing. That takes up to four calls for each stream, each made once.

* A denied call, or a KMS key that cannot be used, fails `load()` or `start()`. Throttles and outages do not.
* The installed botocore must know `DryRun`, as 1.44 does. With an older one nothing but DescribeStreamSummary is called, and
  a missing permission shows at the first call that needs it.
* A server that does not know `DryRun` carries such a call out. The source therefore calls GetRecords only after a dry run of
  GetShardIterator was answered as one. The sink does the same with PutRecords, where the endpoint is not one of AWS. On AWS it asks
  for PutRecords alone, with a record that no stream takes which goes by keys: it has no partition key, and a hash key beyond
  all shards. Where Kinesis chooses the shards, the dry run alone keeps it out.
  So the sink's check does not see a missing permission on the KMS key.
* Streams that rows name are not checked, since the driver does not know them. For enhanced fan-out the driver asks for a
  subscription to a shard that does not exist when a query starts.
* The driver's credentials must allow the calls of the tasks as well, unless `checkPermissions` is `false`. Where executors have
  others, such as those of their instances, their errors come from the first task.
"""
POLICIES_INTRODUCTION = """\
## Policies

Each allows as much as its purpose needs, and nothing else. Put names in the places of the words in capitals; in
partitions other than `aws`, such as `aws-cn`, that as well. Driver and executors have the same credentials, as a rule, so
a policy is for both.
"""


@frozen
class Policy:
    """What one way of using a stream needs."""

    title: str
    remark: str
    purposes: tuple[Purpose, ...]
    keys: tuple[Purpose, ...] = ()


POLICIES = (
    Policy("Reading by polling", "", (Purpose.SOURCE,)),
    Policy(
        "Reading by enhanced fan-out",
        "The driver plans with GetRecords, and tasks fall back to it. A query that is given `consumerARN` needs neither "
        "RegisterStreamConsumer nor DeregisterStreamConsumer, one with `keepConsumer` only the former.",
        (Purpose.SOURCE, Purpose.FAN_OUT),
    ),
    Policy("Writing", "", (Purpose.SINK,)),
    Policy(
        "Publishing progress",
        "Beside one for reading. CreateTable is only for a table that is not there yet.",
        (Purpose.LEASE_TABLE,),
    ),
    Policy(
        "Reading an encrypted stream",
        "Beside one for reading, when the stream has a KMS key of your own; AWS's own key `aws/kinesis` needs no permission "
        "within its account. The key's policy must allow it as well where the key is another account's.",
        (),
        (Purpose.SOURCE, Purpose.FAN_OUT),
    ),
    Policy("Writing to an encrypted stream", "Beside the one for writing, likewise.", (), (Purpose.SINK,)),
    Policy(
        "Assuming a role",
        "For the credentials that assume it; the role's own policy is one of those above, and its trust policy must name "
        "them.",
        (Purpose.ROLE,),
    ),
)


def render() -> str:
    """Return the page."""
    lines = [INTRODUCTION]
    for purpose in Purpose:
        calls = [call for call in CALLS if any(use.purpose is purpose for use in call.uses)]
        lines += [f"## Calls: {purpose.value}", "", *_render_calls(calls, purpose), ""]
    lines += ["## Keys of encrypted streams", "", *_render_key_uses(), ""]
    lines += ["## Resources", "", *_render_resources(), "", POLICIES_INTRODUCTION]
    for policy in POLICIES:
        lines += [f"### {policy.title}", ""]
        lines += [policy.remark, ""] if policy.remark else []
        lines += ["```json", json.dumps(document(policy), indent=2), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def document(policy: Policy) -> dict[str, object]:
    """Return *policy* as IAM takes it."""
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


def _render_calls(calls: Iterable[Call], purpose: Purpose) -> list[str]:
    rows = (
        (
            f"`{call.iam_action}`",
            ", ".join(resource.name for resource in call.resources),
            _list_places(use.places),
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
        (f"`{use.iam_action}`", KEY.name, _list_places(use.places), ", ".join(use.calls), use.purpose.value)
        for use in KEY_USES
    )
    return render_rows(("action", "on", "from", "by Kinesis, for", "of"), rows)


def _render_resources() -> list[str]:
    return render_rows(("resource", "ARN"), ((r.name, f"`{r.arn}`") for r in _list_resources()))


def _list_resources() -> Iterator[Resource]:
    yield from dict.fromkeys(resource for call in CALLS for resource in call.resources)
    yield KEY


def _list_places(places: Iterable[Place]) -> str:
    return " and ".join(place.value for place in places)


if __name__ == "__main__":
    sys.exit(update(PAGE, render(), sys.argv[1:]))
