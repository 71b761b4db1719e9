"""Older entries, compressed in segments that reads still reach."""
