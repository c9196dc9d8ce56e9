"""Reads a page of the documentation, and does with its code blocks what a reader does."""
