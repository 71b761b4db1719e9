"""One file of JSON lines a tape, readable by eye."""
