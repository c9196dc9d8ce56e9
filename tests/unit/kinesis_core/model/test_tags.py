"""Which tags of a consumer AWS accepts."""

from __future__ import annotations

import pytest

from kinesis_core import OptionError
from kinesis_core.model import fault_of_tags
from kinesis_core.reading import FanOutSettings


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"team": ""},
        {"k" * 128: "v" * 256},
        {"Größe 1": "a_.:/=+-@b"},
        {f"k{number}": "" for number in range(50)},
    ],
)
def test_good_tags(tags: dict[str, str]) -> None:
    """Letters of all languages, digits, spaces and some symbols; 50 tags; an empty value."""
    assert fault_of_tags(tags) == ""
    assert FanOutSettings(consumer_tags=tags).consumer_tags == tags


@pytest.mark.parametrize(
    ("tags", "fault"),
    [
        ({"": "x"}, "A tag's key has 0 characters. Use 1 to 128."),
        ({"k" * 129: "x"}, "A tag's key has 129 characters. Use 1 to 128."),
        ({"team": "v" * 257}, "The value of the tag 'team' has 257 characters. Use at most 256."),
        ({"AWS:team": "x"}, "The tag 'AWS:team' begins with 'aws:', which AWS reserves."),
        ({"team": "a;b"}, "The tag 'team' has the character ';'. Use letters, digits, spaces and _.:/=+-@."),
        ({"team": 7}, "The tag 'team' has a key or a value that is not text."),
        ({f"k{number}": "" for number in range(51)}, "There are 51 tags. A consumer has at most 50."),
    ],
)
def test_bad_tags(tags: dict[str, str], fault: str) -> None:
    """A tag that AWS would refuse is named before anything is called."""
    assert fault_of_tags(tags) == fault
    with pytest.raises(OptionError) as raised:
        FanOutSettings(consumer_tags=tags)
    assert fault in str(raised.value)
