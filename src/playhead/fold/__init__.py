"""What of the past is told more shortly: summaries, how they are written, and how deep each part is folded."""
