"""Kills what runs while two queries read a stream, by a script from a seed, and judges what came of it."""
