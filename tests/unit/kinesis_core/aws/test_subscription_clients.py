"""Doors to subscriptions: by HTTP/1.1 and HTTP/2 side by side, in one process."""

from __future__ import annotations

import pytest

from kinesis_core.aws import Connection, StreamRef, stream_client, subscription_client
from kinesis_core.aws.subscription_clients import check_http2
from kinesis_core.errors import OptionError
from kinesis_credentials import StaticKeys

ORDERS = StreamRef("orders")
CONNECTION = Connection((ORDERS,), "eu-west-1", None, StaticKeys("AKIAEXAMPLE", "example-secret"))


def test_http2_is_for_those_who_ask_for_it() -> None:
    """The client that polls sends its own subscriptions by HTTP/1.1; HTTP/2 has another one, opened once."""
    plain = subscription_client(CONNECTION, ORDERS, "arn")
    over_http2 = [subscription_client(CONNECTION, ORDERS, "arn", over_http2=True) for _ in range(2)]
    assert plain.client is stream_client(CONNECTION, ORDERS).client
    assert plain.client is not over_http2[0].client
    assert over_http2[0].client is over_http2[1].client


@pytest.mark.parametrize("missing", ["httpx2", "h2"])
def test_what_is_missing_for_http2_is_told(missing: str) -> None:
    """Without the extra, the error says what to install and where, or which option to leave alone."""
    with pytest.raises(OptionError, match=r"pip install 'kinesis-core\[http2\]'.*fanOutTransport"):
        check_http2(lambda name: None if name == missing else "found")
    check_http2()
