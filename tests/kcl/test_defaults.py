"""The KCL with nothing but its defaults, as its documentation starts it, over the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kinesis_emulator import Emulator
from support.kcl.application import KclApplication
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.worker import DEFAULTS, VERSIONS, Version
from support.witnesses.claims import check_claim

pytestmark = [pytest.mark.witness, pytest.mark.libraries]


@pytest.mark.parametrize("version", VERSIONS)
def test_over_tls(
    dynamodb_local: DynamoDbLocal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: Version
) -> None:
    """
    300 user records over a split and a merge come once each, by fan-out and HTTP/2 over TLS.

    The emulator has AWS's quotas, and the KCL its own times, client and way of retrieval.
    """
    with Emulator(tls=True) as emulator:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(emulator.certificate))
        with KclApplication(dynamodb_local, emulator.endpoint_url, tmp_path) as application:
            application.put(100)
            defaults: dict[str, Any] = {"settings": DEFAULTS, "first_sync": "default", "retrieval": "fanOut"}
            worker = application.start(version, authority=emulator.certificate, **defaults)
            worker.wait_records(100)
            application.stream.split()
            application.put(100)
            application.stream.merge(1)
            application.put(100)
            delivered = application.wait_all_delivered()
            check_claim(
                f"KCL {version}",
                "all defaults over TLS: reads by fan-out over a split and a merge",
                application.sent,
                [record.data for record in delivered],
            )
            assert emulator.calls.count("GetRecords") == 0
            subscribed = emulator.calls.count("SubscribeToShard", http_version="2")
            assert subscribed == emulator.calls.count("SubscribeToShard") >= 5
