"""The ready-made strategies."""
