"""The permission check has no effect, on servers with and without dry runs."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_core.aws import Connection, check_reading, check_writing, dry_run_client
from kinesis_core.aws.dry_runs import BotoDryRuns
from kinesis_core.errors import DryRunSucceededError, ServiceError


@pytest.fixture
def api(server: dict[str, Any], stream: Any) -> BotoDryRuns:
    connection = Connection.to_stream(stream.name, **server)
    api = dry_run_client(connection, connection.streams[0])
    assert api is not None
    return api


def test_nothing_happens(stream: Any, api: BotoDryRuns) -> None:
    """When all permissions exist, the checks raise no error and write nothing."""
    check_reading(api)
    check_writing(api)
    assert stream.data() == []


def test_record_of_the_dry_run(stream: Any, api: BotoDryRuns) -> None:
    """Every server refuses the record of the dry run if the stream goes by keys, also a server without dry runs."""
    with pytest.raises(ServiceError):
        api.dry_run_put_records()
    assert stream.data() == []


@pytest.mark.deviates("kinesis-local", "does not know DryRun")
@pytest.mark.deviates("moto", "does not know DryRun")
def test_dry_run(api: BotoDryRuns) -> None:
    """A dry run that would succeed gets the response for that."""
    shard_id = api.find_shard()
    assert shard_id is not None
    with pytest.raises(DryRunSucceededError):
        api.get_iterator(shard_id, dry_run=True)
