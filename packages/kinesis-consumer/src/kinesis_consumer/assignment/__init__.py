"""Which worker has which lease: workers that take leases for themselves, and a leader that assigns them."""

from kinesis_consumer.assignment.auditor import elect_auditor
from kinesis_consumer.assignment.balancing import Assign, BeginHandOver, Decision, decide
from kinesis_consumer.assignment.items import read_leases
from kinesis_consumer.assignment.leader import Leader, LeaderRun
from kinesis_consumer.assignment.lock import HEARTBEATS, LeaderLock
from kinesis_consumer.assignment.metrics import (
    REPORT_S,
    MetricsWriter,
    Roster,
    WorkerReport,
    read_report,
    report_alive,
)
from kinesis_consumer.assignment.mode import (
    MIGRATION,
    TABLE_MIGRATION,
    Coordination,
    Layout,
    Mode,
    ModeReader,
)
from kinesis_consumer.assignment.namesakes import Namesakes
from kinesis_consumer.assignment.sightings import Sightings, scan_pause_s
from kinesis_consumer.assignment.taking import Choice, LeaseTaker, Taken, TakingLimits, choose_leases

__all__ = [
    "Assign",
    "BeginHandOver",
    "Choice",
    "Coordination",
    "Decision",
    "HEARTBEATS",
    "Layout",
    "Leader",
    "LeaderLock",
    "LeaderRun",
    "LeaseTaker",
    "MIGRATION",
    "MetricsWriter",
    "Mode",
    "ModeReader",
    "Namesakes",
    "REPORT_S",
    "Roster",
    "Sightings",
    "TABLE_MIGRATION",
    "Taken",
    "TakingLimits",
    "WorkerReport",
    "choose_leases",
    "decide",
    "elect_auditor",
    "read_leases",
    "read_report",
    "report_alive",
    "scan_pause_s",
]
