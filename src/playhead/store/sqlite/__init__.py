"""All tapes in one SQLite file."""
