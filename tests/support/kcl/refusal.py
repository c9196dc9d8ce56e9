"""Whether a group is refused beside workers of another library."""

from __future__ import annotations

import pytest

from kinesis_consumer import ConsumerGroup, DynamoLeases, GroupSettings, GroupStateError
from kinesis_credentials import StaticKeys
from support.kcl.application import KclApplication
from support.streams import KEY_ID, SECRET


def refuses(application: KclApplication, seen: str, lease_duration_s: float) -> None:
    """Check that a group is not opened, and that the error names what was *seen*. All workers have the same lease duration."""
    with pytest.raises(GroupStateError, match=rf"{seen}\]$"):
        ConsumerGroup.open(
            application.stream.name,
            application.name,
            leases=DynamoLeases(endpoint_url=application.dynamodb.endpoint_url),
            region=application.stream.region,
            endpoint_url=application.kinesis_url,
            credentials=StaticKeys(KEY_ID, SECRET),
            settings=GroupSettings(lease_duration_s=lease_duration_s),
        )
