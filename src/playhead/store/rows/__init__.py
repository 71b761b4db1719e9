"""Entries as rows of a database, and the file they are in."""
