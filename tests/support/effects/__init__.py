"""
What each option changes, seen where it acts: on the wire, in a reader's or producer's settings, in what is read or written.

One table for the options that source and sink share, and one for each half. `tests/effects` goes through the
declarations with them, and fails for an option that is in none.
"""
