"""All tapes in one PostgreSQL database."""
