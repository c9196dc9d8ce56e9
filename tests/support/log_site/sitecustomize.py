"""
Makes the Python processes that Spark starts, planners and workers, log the events of `kinesis_core` to one file.

Python imports a module of this name at its start, from a folder in PYTHONPATH.
"""

import logging
import os
from pathlib import Path

from support.python_log import VARIABLE

# The JVM passes the folder of its first session on to a second session, when the folder no longer exists.
if VARIABLE in os.environ and Path(os.environ[VARIABLE]).parent.is_dir():
    handler = logging.FileHandler(os.environ[VARIABLE])
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("kinesis_core")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
