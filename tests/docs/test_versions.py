"""The versions that a page calls tested are those that noxfile.py installs."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MODULE = re.compile(r"(pandas|pyarrow|numpy|botocore|urllib3|attrs) (\d[\d.]*\d)")


def constant(name: str) -> Any:
    """Return the value that noxfile.py gives to *name*."""
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    assignments = [node for node in tree.body if isinstance(node, ast.Assign)]
    return next(ast.literal_eval(node.value) for node in assignments if ast.unparse(node.targets[0]) == name)


def test_modules_of_glue() -> None:
    """The section of AWS Glue names the versions with which Spark 4.1 is tested."""
    page = (ROOT / "docs" / "howto" / "deploy.md").read_text(encoding="utf-8")
    named = MODULE.findall(page.partition("\n## AWS Glue\n")[2].partition("\n### ")[0])
    assert len(named) == 6
    assert {f"{module}=={version}" for module, version in named} <= set(constant("MODULES_OF_GLUE"))
