"""The short way to a model: ask, on a tape or without one, and have what was said kept."""
