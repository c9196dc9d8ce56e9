"""
Searches a built site as its pages do, and checks which page comes first: `python -m docs.check_search .nox/html`.

Zensical's own worker runs in V8. It ranks matches in headings before those in the text, and early words of a heading before late
ones. So a page is found first if one of its headings begins with the words that users type.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from py_mini_racer import MiniRacer

FIRST = {
    "backfill": ("howto/operate/",),
    "batch size": ("howto/size-and-tune/",),
    "checkpoint": ("howto/deploy/",),
    "cloudwatch": ("howto/recipes/",),
    "command line": ("cli/",),
    "consumer group": ("concepts/",),
    "credentials": ("howto/credentials/",),
    "databricks": ("howto/deploy/",),
    "dead letter": ("howto/recipes/",),
    "emr": ("howto/deploy/",),
    "endpoint": ("reference/options/",),
    "exactly once": ("howto/exactly-once/",),
    "exit code": ("cli/",),
    "fan-out": ("howto/fan-out/",),
    "glue": ("howto/deploy/",),
    "lag": ("concepts/",),
    "logs": ("howto/logs/",),
    "partition key": ("howto/writing/",),
    "pipelines": ("howto/pipelines/",),
    "recipes": ("howto/recipes/",),
    "restart": ("howto/operate/",),
    "retention": ("concepts/",),
    "slow": ("howto/size-and-tune/",),
    "startingPosition": ("reference/options/",),
    "streams": ("cli/streams/",),
    "throttled": ("concepts/",),
    "upgrade": ("howto/operate/",),
    "watermark": ("howto/watermarks/",),
    "yarn": ("howto/deploy/",),
}
"""What users type, and the pages of which one must come first."""
_READY, _RESULT = 1, 3


class Search:
    """The search of a site. Its worker takes messages and answers with messages."""

    def __init__(self, site: Path) -> None:
        (worker,) = site.glob("assets/javascripts/workers/search.*.js")
        index = (site / "search.json").read_text(encoding="utf-8")
        self._items = json.loads(index)["items"]
        self._engine = MiniRacer()
        self._engine.eval("var answers = []; var self = {postMessage: answer => answers.push(answer)};")
        self._engine.eval(worker.read_text(encoding="utf-8"))
        self._send(f'{{"type": 0, "data": {index}}}', _READY)

    def find(self, words: str) -> list[str]:
        """Return the pages that the search lists first, with their anchors, the best one first."""
        everything = {"input": {"type": "operator", "data": {"operator": "and", "operands": []}}}
        query = {"type": 2, "data": {"input": words, "filter": everything}}
        data = self._send(json.dumps(query), _RESULT)["data"]
        return [self._items[item["id"]]["location"] for item in data["items"]]

    def _send(self, message: str, expected: int) -> dict[str, dict[str, list[dict[str, int]]]]:
        self._engine.eval(f"answers.length = 0; self.onmessage({{data: {message}}}); undefined")
        answers = json.loads(self._engine.eval("JSON.stringify(answers)"))
        if [answer["type"] for answer in answers] != [expected]:
            raise AssertionError(f"the search answered {answers}")
        (answer,) = answers
        return dict(answer)


def problems(search: Search) -> Iterable[str]:
    for words, wanted in FIRST.items():
        found = search.find(words)
        if not found or found[0].partition("#")[0] not in wanted:
            yield f"A search for '{words}' should find {' or '.join(wanted)} first. It finds: {', '.join(found[:3]) or 'nothing'}."


if __name__ == "__main__":
    sys.exit("\n".join(problems(Search(Path(sys.argv[1])))) or None)
