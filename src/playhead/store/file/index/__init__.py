"""Finding entries by key and uid without reading all lines: a cache beside each file."""
