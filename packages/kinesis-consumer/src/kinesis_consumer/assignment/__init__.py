"""Which worker has which lease: a leader assigns them to the workers that report."""

from kinesis_consumer.assignment.balancing import Assign, BeginHandOver, Decision, decide
from kinesis_consumer.assignment.joining import join
from kinesis_consumer.assignment.leader import Leader, LeaderRun, Sightings
from kinesis_consumer.assignment.lock import HEARTBEATS, LeaderLock
from kinesis_consumer.assignment.metrics import REPORT_S, Roster, WorkerReport, read_report, report_alive
from kinesis_consumer.assignment.namesakes import Namesakes
from kinesis_consumer.assignment.older_kcl import MIGRATION, OlderWorkers, write_version

__all__ = [
    "Assign",
    "BeginHandOver",
    "Decision",
    "HEARTBEATS",
    "Leader",
    "LeaderLock",
    "LeaderRun",
    "MIGRATION",
    "Namesakes",
    "OlderWorkers",
    "REPORT_S",
    "Roster",
    "Sightings",
    "WorkerReport",
    "decide",
    "join",
    "read_report",
    "report_alive",
    "write_version",
]
