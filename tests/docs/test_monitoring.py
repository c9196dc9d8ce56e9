"""The dashboard, the alert rules and the page about monitoring name metrics that are exported."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from kinesis_cli.lag.metrics import LagCollector
from spark_kinesis_source.metrics import METRICS, Kind

DOCS = Path(__file__).parents[2] / "docs"
MONITORING = DOCS / "monitoring"
PAGE = (DOCS / "howto" / "monitor.md").read_text(encoding="utf-8")
QUERY_METRICS = {metric.prometheus_name: metric for metric in METRICS}
READER_METRICS = {family.name: set(family._labelnames) for family in LagCollector("orders", []).collect()}
"""What `kinesis lag --serve` exports."""
LABELS = {name: set(metric.labels) for name, metric in QUERY_METRICS.items()} | READER_METRICS
HISTOGRAMS = {name for name, metric in QUERY_METRICS.items() if metric.kind is Kind.HISTOGRAM}
SUFFIXES = ("_bucket", "_count", "_sum")


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return found


QUERIES = [(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]]
QUERIES += [(rule.get("alert", rule.get("record")), rule["expr"]) for rule in rules()]


def series(text: str) -> set[str]:
    """Return the names of our metrics in *text*: those with `kinesis:` are results of rules."""
    return set(re.findall(r"\bkinesis_\w+", text))


@pytest.mark.parametrize(("title", "expression"), QUERIES, ids=[title for title, _ in QUERIES])
def test_queries_use_exported_metrics(title: str, expression: str) -> None:
    """A panel and a rule use metrics that are exported, buckets only of histograms, and labels that they have."""
    assert title
    assert series(expression) or "kinesis:" in expression
    for name in series(expression):
        suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
        metric = name.removesuffix(suffix)
        assert (metric in HISTOGRAMS) == bool(suffix)
        for labels in re.findall(rf"{name}{{([^}}]*)}}", expression):
            assert set(re.findall(r"(\w+)[=!]", labels)) <= {*LABELS[metric], "le"}


def test_every_metric_is_looked_at() -> None:
    """The dashboard shows every metric of a query, but the suffixes of histograms."""
    shown = series(" ".join(expression for _, expression in QUERIES))
    assert {name.removesuffix("_bucket") for name in shown} - set(READER_METRICS) == set(QUERY_METRICS)


def test_results_of_rules() -> None:
    """An alarm uses only results that a rule before it records."""
    recorded: set[str] = set()
    for rule in rules():
        assert set(re.findall(r"\bkinesis:\w+", rule["expr"])) <= recorded
        recorded |= {rule["record"]} if "record" in rule else set()


def test_panels_do_not_overlap() -> None:
    """Each panel has a place and a number of its own, a description and a unit."""
    places: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        covered = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not covered & places
        assert at["x"] + at["w"] <= 24
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        places |= covered
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_the_page_has_all_metrics() -> None:
    """The table of the page is that of the declarations."""
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        cells = (f"`{metric.prometheus_name}`", f"`{metric.name}`", metric.kind.value, labels, metric.meaning)
        assert f"| {' | '.join(cells)} |" in PAGE
    table = set(re.findall(r"^\| `(kinesis_\w+)` \|", PAGE, re.MULTILINE))
    assert table == set(QUERY_METRICS)
    assert series(PAGE) <= set(LABELS)


def test_the_page_has_all_alarms() -> None:
    """The page explains every alarm, in the order of the rules. Each has a severity and a summary."""
    alarms = [rule for rule in rules() if "alert" in rule]
    assert re.findall(r"^\| `(Kinesis\w+)` \|", PAGE, re.MULTILINE) == [rule["alert"] for rule in alarms]
    for alarm in alarms:
        assert alarm["labels"]["severity"] in {"warning", "critical"}
        assert alarm["annotations"]["summary"]


def test_every_alarm_has_a_test() -> None:
    """The rules' own tests let every alarm ring once, and name metrics that are exported."""
    tests = yaml.safe_load((MONITORING / "alerts_test.yml").read_text())["tests"]
    ringing = {
        rule["alertname"] for test in tests for rule in test["alert_rule_test"] if rule.get("exp_alerts")
    }
    assert ringing == {rule["alert"] for rule in rules() if "alert" in rule}
    named = {name for test in tests for given in test["input_series"] for name in series(given["series"])}
    assert named <= set(LABELS)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_rules_by_promtool() -> None:
    """Prometheus' own tool accepts the rules, and their tests succeed."""
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(["promtool", *command], cwd=MONITORING, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
