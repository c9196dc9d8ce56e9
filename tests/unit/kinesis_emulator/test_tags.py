"""Tags of streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kinesis_emulator import Emulator

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
    assert refusal(add, StreamName="teas", Tags={"more": ""})[0] == "LimitExceededException"
    assert refusal(client.list_tags_for_stream, StreamName="nowhere")[0] == "ResourceNotFoundException"


def test_tags_of_a_resource(client: Any, created: Any) -> None:
    """ListTagsForResource has the tags of a stream, too."""
    created(StreamName="teas", ShardCount=1, Tags=TAGS)
    arn = client.describe_stream_summary(StreamName="teas")["StreamDescriptionSummary"]["StreamARN"]
    listed = client.list_tags_for_resource(ResourceARN=arn)["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in listed} == TAGS


@pytest.mark.parametrize("tags", [{"aws:team": "x"}, {"team?": "x"}, {"team": "a,b"}])
def test_tags_that_aws_refuses(tags: dict[str, str], client: Any, created: Any, refusal: Any) -> None:
    """Streams and consumers have the same rules."""
    created(StreamName="teas", ShardCount=1)
    arn = client.describe_stream_summary(StreamName="teas")["StreamDescriptionSummary"]["StreamARN"]
    register = client.register_stream_consumer
    assert (
        refusal(client.create_stream, StreamName="more", ShardCount=1, Tags=tags)[0]
        == "InvalidArgumentException"
    )
    assert refusal(client.add_tags_to_stream, StreamName="teas", Tags=tags)[0] == "InvalidArgumentException"
    assert (
        refusal(register, StreamARN=arn, ConsumerName="billing", Tags=tags)[0] == "InvalidArgumentException"
    )


def test_tags_are_kept_in_a_folder(new_client: Any, tmp_path: Path) -> None:
    """The next emulator on the folder has the tags."""
    with Emulator(data=tmp_path) as emulator:
        new_client(emulator.endpoint_url).create_stream(StreamName="teas", ShardCount=1, Tags=TAGS)
    with Emulator(data=tmp_path) as emulator:
        assert tags_of(new_client(emulator.endpoint_url)) == TAGS
