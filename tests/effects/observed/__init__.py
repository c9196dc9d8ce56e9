"""
What each option changes, observed where it has its effect: on the wire, in settings, or in the records read or written.

There is one table for the options that source and sink share, and one for each half. `tests/effects` checks every
declared option against them, and fails for an option without an entry.
"""
