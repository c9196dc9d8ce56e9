"""Clients for subscriptions: HTTP/1.1 and HTTP/2 side by side in one process."""

from __future__ import annotations

import pytest

from kinesis_core.aws import Connection, FanOutTransport, StreamRef, stream_client, subscription_client
from kinesis_core.aws.transport import check_http2
from kinesis_core.errors import OptionError
from kinesis_credentials import StaticKeys

ORDERS = StreamRef("orders")
CONNECTION = Connection((ORDERS,), "eu-west-1", None, StaticKeys("AKIAEXAMPLE", "example-secret"))


def test_http2_has_a_client_of_its_own() -> None:
    """The polling client also makes subscriptions over HTTP/1.1. HTTP/2 has another client, opened once."""
    plain = subscription_client(CONNECTION, ORDERS, "arn")
    over_http2 = [subscription_client(CONNECTION, ORDERS, "arn", FanOutTransport.HTTP_2) for _ in range(2)]
    assert plain.client is stream_client(CONNECTION, ORDERS).client
    assert plain.client is not over_http2[0].client
    assert over_http2[0].client is over_http2[1].client


@pytest.mark.parametrize("missing", ["httpx2", "h2"])
def test_a_missing_http2_package_is_reported(missing: str) -> None:
    """Without the extra, the error says what to install and where, or which option to leave unset."""
    with pytest.raises(OptionError, match=r"pip install 'kinesis-core\[http2\]'.*FanOutTransport.HTTP_1_1"):
        check_http2(lambda name: None if name == missing else "found")
    check_http2()
