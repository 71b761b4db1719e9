"""How disks write: a sector at a time, each whole or not at all."""

SECTOR = 512
"""How many bytes a sector has, of which a loss of power may leave some unwritten."""
