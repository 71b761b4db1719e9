"""Tapes in memory: the store, what a tape shows, and the strips of entries it is made of."""
