"""Looking after a SQLite store: proving, copying and saving it."""
