"""What belongs to an account and not to a stream: its limits, and its commitment to pay for a minimum of throughput."""

from __future__ import annotations

from typing import Any

from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service

_NO_LIMIT = 1_000_000
"""The highest number in a response."""
_MOST_CHANNELS = 50


def describe_limits(service: Service, request: Request) -> dict[str, Any]:
    region, account_id = request.region, service.account_of(request)
    streams = service.store.list(region, account_id)
    limits = service.settings.limits
    service.admit(request.action, f"account {account_id}", limits.describe_limits_per_s)
    return {
        "ShardLimit": _NO_LIMIT if limits.shards_per_account is None else limits.shards_per_account,
        "OpenShardCount": service.open_shards(region, account_id),
        "OnDemandStreamCount": sum(stream.mode == "ON_DEMAND" for stream in streams),
        "OnDemandStreamCountLimit": _NO_LIMIT
        if limits.on_demand_streams is None
        else limits.on_demand_streams,
        "ChannelCount": 0,
        "ChannelCountLimit": _MOST_CHANNELS,
    }


def describe_settings(service: Service, request: Request) -> dict[str, Any]:
    account_id = service.account_of(request)
    rate = service.settings.limits.describe_account_settings_per_s
    service.admit(request.action, f"account {account_id}", rate)
    return _show(service.store.account_settings(request.region, account_id))


def update_settings(service: Service, request: Request) -> dict[str, Any]:
    """Change the commitment. One that is enabled again keeps its begin."""
    region, account_id = request.region, service.account_of(request)
    rate = service.settings.limits.update_account_settings_per_s
    service.admit(request.action, f"account {account_id}", rate)
    status = request.member("MinimumThroughputBillingCommitment").text("Status")
    held = service.store.account_settings(region, account_id)
    if held.get("status", "DISABLED") != status:
        held = {**held, "status": status}
        held["started_ms" if status == "ENABLED" else "ended_ms"] = service.now_ms()
        service.store.change_account_settings(region, account_id, held)
    return _show(held)


def _show(held: dict[str, Any]) -> dict[str, Any]:
    commitment: dict[str, Any] = {"Status": held.get("status", "DISABLED")}
    if "started_ms" in held:
        commitment["StartedAt"] = held["started_ms"] / 1000
    if "ended_ms" in held and commitment["Status"] == "DISABLED":
        commitment["EndedAt"] = held["ended_ms"] / 1000
    return {"MinimumThroughputBillingCommitment": commitment}
