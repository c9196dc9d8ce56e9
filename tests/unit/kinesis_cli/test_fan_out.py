"""The pages of ListStreamConsumers."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from kinesis_cli.fan_out import FanOutConsumer, list_consumers

ARN = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
CREATED = datetime(2026, 1, 31, 9, tzinfo=timezone.utc)


def test_all_pages() -> None:
    """All pages are asked for, each with the ARN, which this call requires beside the token."""
    requests: list[dict[str, Any]] = []

    def call(action: str, **request: Any) -> dict[str, Any]:
        assert action == "ListStreamConsumers"
        requests.append(request)
        name = f"consumer-{3 - len(requests)}"
        facts = {"ConsumerName": name, "ConsumerARN": f"{ARN}/consumer/{name}:1", "ConsumerStatus": "ACTIVE"}
        page = {"Consumers": [{**facts, "ConsumerCreationTimestamp": CREATED}]}
        return {**page, "NextToken": str(len(requests))} if len(requests) < 3 else page

    found = list_consumers(call, ARN)
    assert [consumer.name for consumer in found] == ["consumer-0", "consumer-1", "consumer-2"]
    assert found[0] == FanOutConsumer("consumer-0", f"{ARN}/consumer/consumer-0:1", "ACTIVE", 1769850000000)
    assert requests == [
        {"StreamARN": ARN},
        {"StreamARN": ARN, "NextToken": "1"},
        {"StreamARN": ARN, "NextToken": "2"},
    ]
