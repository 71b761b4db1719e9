"""Summaries without a model: sentences picked from what was said, and the index of what is named."""
