"""What one reads: units, selectors, contexts, tokens."""
