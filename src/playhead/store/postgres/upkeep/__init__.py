"""Proving a PostgreSQL store."""
