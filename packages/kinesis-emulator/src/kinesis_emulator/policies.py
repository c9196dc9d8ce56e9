"""The policies of streams and of consumers. The emulator keeps them, and does not apply them."""

from __future__ import annotations

import json
from typing import Any

from kinesis_emulator.errors import AwsError, invalid_argument
from kinesis_emulator.requests import Request
from kinesis_emulator.resources import find_resource
from kinesis_emulator.service import Service

_MOST_BYTES = 20 * 1024
"""Source: https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies.html"""


def put_policy(service: Service, request: Request) -> None:
    resource, policy = find_resource(service, request), request.text("Policy")
    _check(policy)
    with resource.change():
        resource.owned.policy = policy


def _check(policy: str) -> None:
    if len(policy.encode(errors="replace")) > _MOST_BYTES:
        raise invalid_argument(f"The policy has more than {_MOST_BYTES} bytes.")
    try:
        is_policy = isinstance(json.loads(policy), dict)
    except (ValueError, RecursionError):
        is_policy = False
    if not is_policy:
        raise invalid_argument("The policy is not a JSON object.")


def get_policy(service: Service, request: Request) -> dict[str, Any]:
    """Return the policy. A resource without one has an empty one."""
    return {"Policy": find_resource(service, request).owned.policy or "{}"}


def delete_policy(service: Service, request: Request) -> None:
    resource = find_resource(service, request)
    if resource.owned.policy is None:
        arn = resource.owned.arn
        raise AwsError("ResourceNotFoundException", f"No resource policy found for resource ARN {arn}.")
    with resource.change():
        resource.owned.policy = None
