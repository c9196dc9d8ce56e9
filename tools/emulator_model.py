"""Write `model.json` of the emulator from botocore's model of Kinesis: `python -m tools.emulator_model`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape

import kinesis_emulator

PATH = Path(kinesis_emulator.__file__).with_name("model.json")
_KEPT = ("min", "max", "pattern", "enum", "required")
"""What constrains a value. The other facts of a shape are for clients."""
_ANCHORED = re.compile(r"\^\((.*)\)\$")


def load_model() -> ServiceModel:
    """Return the model of Kinesis that the installed botocore has."""
    return botocore.session.get_session().get_service_model("kinesis")


def render(model: ServiceModel) -> str:
    """Return the requests of all operations as JSON, with a line for each operation and each shape."""
    inputs = {name: model.operation_model(name).input_shape for name in sorted(model.operation_names)}
    operations = {name: None if shape is None else shape.name for name, shape in inputs.items()}
    shapes: dict[str, dict[str, Any]] = {}
    for shape in inputs.values():
        _add(shape, shapes)
    lines = [
        *("{", '"operations": {', ",\n".join(_lines(operations)), "},"),
        *('"shapes": {', ",\n".join(_lines(dict(sorted(shapes.items())))), "}", "}", ""),
    ]
    return "\n".join(lines)


def _lines(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"  {json.dumps(name)}: {json.dumps(value)}"


def _add(shape: Shape | None, shapes: dict[str, dict[str, Any]]) -> None:
    """Describe *shape* and the shapes that it consists of in *shapes*."""
    if shape is None or shape.name in shapes:
        return
    facts: dict[str, Any] = {
        name: shape.metadata[name] for name in _KEPT if shape.metadata.get(name, []) != []
    }
    if "pattern" in facts:
        facts["pattern"] = _ANCHORED.sub(r"\1", facts["pattern"])  # a pattern always fits as a whole
    parts: list[Shape] = []
    match shape:
        case StructureShape():
            parts = list(shape.members.values())
            facts["members"] = {name: member.name for name, member in shape.members.items()}
        case ListShape():
            parts, facts["member"] = [shape.member], shape.member.name
        case MapShape():
            parts, facts["key"], facts["value"] = [shape.key, shape.value], shape.key.name, shape.value.name
    shapes[shape.name] = {"type": shape.type_name, **facts}
    for part in parts:
        _add(part, shapes)


if __name__ == "__main__":
    PATH.write_text(render(load_model()), encoding="utf-8")
