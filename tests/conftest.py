"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes says something of the machine, and nothing of what is tested.
# Where a commit is judged the same cases come each time, or it would be blamed for what chance finds in an older one;
# everywhere else new ones do.
settings.register_profile("tests", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tests")
