"""The pictures of the command line show what the commands show today."""

from __future__ import annotations

import pytest

from docs.terminal_pictures import FOLDER, Picture, pictures, texts

PICTURES = pictures()


@pytest.mark.parametrize("picture", PICTURES, ids=[picture.name for picture in PICTURES])
def test_pictures_are_current(picture: Picture) -> None:
    """A picture shows what the command's own code draws. `python -m docs.terminal_pictures` draws it again."""
    there = (FOLDER / f"{picture.name}.svg").read_text(encoding="utf-8")
    assert texts(there) == texts(picture.svg())
    assert len(texts(there)) > 20
