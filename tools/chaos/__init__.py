"""Kills parts of a cluster while two queries read a stream, by a script from a seed, and judges the results."""
