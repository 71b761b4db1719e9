"""Ranked search: words of a payload, their statistics, and which entries a text is most about; the same over every store."""
