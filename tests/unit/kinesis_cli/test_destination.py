"""The options of the destination."""

from __future__ import annotations

import pytest

from kinesis_cli.connecting import Connect
from kinesis_cli.destination import Destination
from kinesis_cli.ending import UsageError

SOURCE = Connect(
    region="eu-west-1", endpoint_url="http://127.0.0.1:1", profile="mine", role_arn="role", external_id="x"
)
ARN = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
AWS_URL = "https://kinesis.us-east-1.amazonaws.com"
SAME = ("eu-west-1", "http://127.0.0.1:1", "mine", "role", "x")


@pytest.mark.parametrize(
    ("options", "stream", "found"),
    [
        ({}, "orders", SAME),
        ({}, ARN, (None, None, *SAME[2:])),
        ({"to_region": "us-east-1"}, "orders", ("us-east-1", None, *SAME[2:])),
        ({"to_region": "eu-west-1"}, "orders", SAME),
        ({}, ARN.replace("us-east-1", "eu-west-1"), (None, *SAME[1:])),
        ({"to_endpoint_url": "http://127.0.0.1:2"}, "orders", ("eu-west-1", "http://127.0.0.1:2", *SAME[2:])),
        ({"to_endpoint_url": AWS_URL}, "orders", (None, AWS_URL, *SAME[2:])),
        ({"to_profile": "other"}, "orders", (*SAME[:2], "other", None, None)),
        ({"to_role_arn": "other"}, "orders", (*SAME[:3], "other", None)),
        (
            {"to_role_arn": "other", "to_external_id": "y", "to_profile": "z"},
            "orders",
            (*SAME[:2], "z", "other", "y"),
        ),
    ],
)
def test_what_is_not_given_is_as_for_the_source(
    options: dict[str, str], stream: str, found: tuple[str | None, ...]
) -> None:
    """Another region of the destination replaces the endpoint of the source as well, and a profile or role what belongs to it."""
    made = Destination(**options).connect(stream, SOURCE, "eu-west-1")
    assert (made.region, made.endpoint_url, made.profile, made.role_arn, made.external_id) == found


def test_the_endpoint_is_verified() -> None:
    """The error names the option of the destination, and shows no password."""
    with pytest.raises(UsageError, match=r"^--to-endpoint-url has a value .* Remove the user") as refused:
        Destination(to_endpoint_url="http://user:s3cr3t@there").connect("orders", SOURCE, "eu-west-1")
    assert "s3cr3t" not in str(refused.value)
