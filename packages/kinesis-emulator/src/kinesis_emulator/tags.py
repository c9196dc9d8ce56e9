"""The tags of streams and of consumers: six operations, and the tags of CreateStream and RegisterStreamConsumer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

from kinesis_emulator.errors import invalid_argument
from kinesis_emulator.requests import Request
from kinesis_emulator.resources import Resource, find_resource, resource_of
from kinesis_emulator.service import Service

_MOST = 50
_ALLOWED = re.compile(r"[\w .:/=+\-@]*")
_RESERVED = "aws:"


def read_tags(request: Request) -> dict[str, str]:
    """Return the parameter `Tags` of *request*; nothing if it has none."""
    return dict(request.member("Tags").params)


def check_tags(verb: Literal["add", "remove"], owner: str, texts: Collection[str]) -> None:
    """
    Refuse keys and values of tags with characters that AWS does not allow, and AWS's own keys.

    Source: https://github.com/mhart/kinesalite, whose tests were run against AWS. A colon came later, see
    https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html

    Raises:
        AwsError: InvalidArgumentException.
    """
    if all(map(_ALLOWED.fullmatch, texts)):
        return
    if all(_ALLOWED.fullmatch(text.replace("%", "")) for text in texts):
        direction = "to" if verb == "add" else "from"
        raise invalid_argument(
            f"Failed to {verb} tags {direction} {owner} because some tags contained illegal characters. "
            "The allowed characters are Unicode letters, white-spaces, '_',',','/','=','+','-','@'."
        )
    raise invalid_argument(
        "Some tags contain invalid characters. Valid characters: "
        "Unicode letters, digits, white space, _ . / = + - % @."
    )


def new_tags(owner: str, held: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """
    Return *held* with the tags *added*, after AWS's checks. *owner* is what has them, such as "stream orders".

    Raises:
        AwsError: InvalidArgumentException, also for more than 50 tags.
    """
    check_tags("add", owner, [*added, *added.values()])
    if any(key.lower().startswith(_RESERVED) for key in added):
        raise invalid_argument(f"Failed to add tags to {owner} because keys must not begin with {_RESERVED}.")
    tags = {**held, **added}
    if len(tags) > _MOST:
        kind = owner.partition(" ")[0]
        raise invalid_argument(
            f"Failed to add tags to {owner} because a given {kind} cannot have more than {_MOST} tags associated with it."
        )
    return tags


def _show(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def add_tags(service: Service, request: Request) -> None:
    stream = service.find_stream(request)
    service.admit(request.action, f"account {stream.account_id}", service.settings.limits.add_tags_per_s)
    _add(resource_of(stream), request)


def tag_resource(service: Service, request: Request) -> None:
    _add(find_resource(service, request), request)


def _add(resource: Resource, request: Request) -> None:
    with resource.change():
        owned = resource.owned
        owned.tags = new_tags(resource.title, owned.tags, read_tags(request))


def remove_tags(service: Service, request: Request) -> None:
    stream = service.find_stream(request)
    service.admit(request.action, f"account {stream.account_id}", service.settings.limits.remove_tags_per_s)
    _remove(resource_of(stream), request)


def untag_resource(service: Service, request: Request) -> None:
    _remove(find_resource(service, request), request)


def _remove(resource: Resource, request: Request) -> None:
    removed = request.texts("TagKeys")
    check_tags("remove", resource.title, removed)
    with resource.change():
        owned = resource.owned
        owned.tags = {key: value for key, value in owned.tags.items() if key not in removed}


def list_tags(service: Service, request: Request) -> dict[str, Any]:
    limit = request.optional_integer("Limit") or _MOST
    after = request.optional_text("ExclusiveStartTagKey") or ""
    stream = service.find_stream(request)
    service.admit(request.action, f"account {stream.account_id}", service.settings.limits.list_tags_per_s)
    tags = [tag for tag in _show(stream.tags) if tag["Key"] > after]
    return {"Tags": tags[:limit], "HasMoreTags": len(tags) > limit}


def list_resource_tags(service: Service, request: Request) -> dict[str, Any]:
    return {"Tags": _show(find_resource(service, request).owned.tags)}
