"""Ranges to records: the tasks' part. It reads each range to its end, by polling or by enhanced fan-out."""
