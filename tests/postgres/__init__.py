"""A real PostgreSQL for tests: a private server that lives as long as the run, and a database for each test that asks."""

from tests.postgres.databases import Databases, databases, with_words
from tests.postgres.server import Server, private_server

__all__ = ["Databases", "Server", "databases", "private_server", "with_words"]
