"""Talking with a model on a tape: at a terminal, through a pipe, or one question of a script."""
