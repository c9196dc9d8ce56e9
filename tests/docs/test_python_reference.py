"""The pages of the Python API have each exported name, with the constructors that attrs writes."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import griffe
import pytest

from docs.attrs_signatures import AttrsSignatures

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference" / "python").glob("*.md"))


def test_every_package_has_a_page() -> None:
    """Six packages have a Python API."""
    assert [page.stem for page in PAGES] == [
        "kinesis_consumer",
        "kinesis_core",
        "kinesis_credentials",
        "kinesis_emulator",
        "spark_kinesis_sink",
        "spark_kinesis_source",
    ]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_page_has_what_the_package_exports(page: Path) -> None:
    """Each name of `__all__` is on the page of its package, once, and no other name is. A version needs no entry."""
    exported = set(import_module(page.stem).__all__) - {"__version__"}
    shown = re.findall(rf"^::: {page.stem}\.(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(shown) == sorted(exported)


MODULE = '''
import attrs
from attrs import Factory, define, field, frozen

@frozen
class Base:
    name: str
    def close(self) -> None: ...

@define
class Child(Base):
    """A child."""
    size: int = field(default=3, validator=None)
    tags: list[str] = field(factory=list)
    @property
    def length(self) -> int: ...

@frozen
class Made:
    name: str
    _secret: str

class Plain:
    name: str = "x"
'''


def test_attrs_classes_have_signatures(tmp_path: Path) -> None:
    """The constructor has the fields of base classes first, with types and defaults. Classes with private fields have none."""
    (tmp_path / "sample.py").write_text(MODULE)
    extensions = griffe.load_extensions(AttrsSignatures)
    sample = griffe.load("sample", search_paths=[tmp_path], extensions=extensions)
    parameters = sample["Child.__init__"].parameters
    assert [(each.name, str(each.annotation), str(each.default)) for each in parameters] == [
        ("self", "None", "None"),
        ("name", "str", "None"),
        ("size", "int", "3"),
        ("tags", "list[str]", "list()"),
    ]
    assert "__init__" not in sample["Made"].members
    assert "__init__" not in sample["Plain"].members
