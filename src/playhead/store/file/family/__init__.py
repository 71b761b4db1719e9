"""Families as files: who writes, how changes to several files are made at once, and what is known beside the entries."""
