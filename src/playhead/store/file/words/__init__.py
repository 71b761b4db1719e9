"""The volumes of terms beside each file: what a search reads instead of all lines. A cache, as the index is."""
