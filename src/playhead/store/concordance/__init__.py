"""Which words stand in which entries, kept in volumes: a cache of what the entries say, in a form that a database and a directory can hold."""
