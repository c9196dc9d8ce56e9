"""Tags of streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

TAGS = {"team": "tea", "stage": ""}


def tags_of(client: Any, **params: Any) -> dict[str, str]:
    return {
        tag["Key"]: tag["Value"] for tag in client.list_tags_for_stream(StreamName="teas", **params)["Tags"]
    }


def test_a_stream_is_created_with_tags(client: Any, created: Any) -> None:
    """CreateStream sets tags. They can be listed, added, replaced and removed."""
    created(StreamName="teas", ShardCount=1, Tags=TAGS)
    assert tags_of(client) == TAGS
    client.add_tags_to_stream(StreamName="teas", Tags={"team": "coffee", "more": "x"})
    client.remove_tags_from_stream(StreamName="teas", TagKeys=["stage", "unknown"])
    assert tags_of(client) == {"team": "coffee", "more": "x"}


def test_tags_are_listed_in_pages(client: Any, created: Any) -> None:
    """Tags come in the order of their keys, after ExclusiveStartTagKey."""
    created(StreamName="teas", ShardCount=1, Tags=TAGS)
    page = client.list_tags_for_stream(StreamName="teas", Limit=1)
    assert ([tag["Key"] for tag in page["Tags"]], page["HasMoreTags"]) == (["stage"], True)
    assert tags_of(client, ExclusiveStartTagKey="stage") == {"team": "tea"}


def test_tags_that_are_refused(client: Any, created: Any, refusal: Any) -> None:
    """A stream has at most 50 tags, and needs to exist."""
    created(StreamName="teas", ShardCount=1, Tags={str(number): "" for number in range(50)})
    add = client.add_tags_to_stream
    assert refusal(add, StreamName="teas", Tags={"more": ""}) == (
        "InvalidArgumentException",
        "Failed to add tags to stream teas under account 000000000000 because a given stream cannot have more than 50 tags "
        "associated with it.",
    )
    add(StreamName="teas", Tags={"0": "replaced"})
    assert refusal(client.list_tags_for_stream, StreamName="nowhere")[0] == "ResourceNotFoundException"


@pytest.mark.parametrize("kind", ["stream", "consumer"])
def test_tags_of_a_resource(kind: str, client: Any, created: Any) -> None:
    """Streams and consumers are created with tags, which calls for resources list, add, replace and remove."""
    created(StreamName="teas", ShardCount=1, Tags=TAGS)
    arn = client.describe_stream_summary(StreamName="teas")["StreamDescriptionSummary"]["StreamARN"]
    if kind == "consumer":
        registered = client.register_stream_consumer(StreamARN=arn, ConsumerName="billing", Tags=TAGS)
        arn = registered["Consumer"]["ConsumerARN"]

    def listed() -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in client.list_tags_for_resource(ResourceARN=arn)["Tags"]}

    assert listed() == TAGS
    client.tag_resource(ResourceARN=arn, Tags={"team": "coffee", "more": "x"})
    client.untag_resource(ResourceARN=arn, TagKeys=["stage", "unknown"])
    assert listed() == {"team": "coffee", "more": "x"}


def test_a_new_stream_has_no_tags_of_an_old_one(client: Any, created: Any, clock: ManualClock) -> None:
    """DeleteStream removes the tags, and a stream without tags has an empty list."""
    created(StreamName="teas", ShardCount=1, Tags=TAGS)
    client.delete_stream(StreamName="teas")
    clock.advance(1)
    created(StreamName="teas", ShardCount=1)
    assert client.list_tags_for_stream(StreamName="teas")["Tags"] == []


def test_resources_that_have_no_tags(client: Any, refusal: Any) -> None:
    """A queue does not exist, nor does a stream that nobody has created."""
    for resource in ("queue/x", "stream/nowhere", "stream/orders/consumer/x:1"):
        arn = f"arn:aws:kinesis:us-east-1:000000000000:{resource}"
        assert refusal(client.list_tags_for_resource, ResourceARN=arn)[0] == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"aws:team": "x"}, "keys must not begin with aws:"),
        ({"team?": "x"}, "Some tags contain invalid characters. Valid characters: "),
        ({"team": "a,b"}, "Some tags contain invalid characters. Valid characters: "),
        ({"team": "a\tb"}, "Some tags contain invalid characters. Valid characters: "),
        ({"te%am": "b"}, "because some tags contained illegal characters. The allowed characters are "),
    ],
)
def test_tags_that_aws_refuses(
    tags: dict[str, str], words: str, client: Any, created: Any, refusal: Any
) -> None:
    """Streams and consumers have the same rules."""
    created(StreamName="teas", ShardCount=1)
    arn = client.describe_stream_summary(StreamName="teas")["StreamDescriptionSummary"]["StreamARN"]
    calls: list[tuple[Any, dict[str, Any]]] = [
        (client.create_stream, {"StreamName": "more"}),
        (client.add_tags_to_stream, {"StreamName": "teas"}),
        (client.tag_resource, {"ResourceARN": arn}),
        (client.register_stream_consumer, {"StreamARN": arn, "ConsumerName": "billing"}),
    ]
    for call, params in calls:
        code, message = refusal(call, **params, Tags=tags)
        assert code == "InvalidArgumentException"
        assert words in message


def test_tags_are_kept_in_a_folder(new_client: Any, tmp_path: Path) -> None:
    """The next emulator on the folder has the tags."""
    with Emulator(data=tmp_path) as emulator:
        new_client(emulator.endpoint_url).create_stream(StreamName="teas", ShardCount=1, Tags=TAGS)
    with Emulator(data=tmp_path) as emulator:
        assert tags_of(new_client(emulator.endpoint_url)) == TAGS
