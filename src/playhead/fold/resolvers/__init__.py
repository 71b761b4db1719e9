"""Ways to choose how deep each part of the past is folded."""
