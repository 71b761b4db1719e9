"""What happened: entries, their frozen payloads, their bytes, and messages."""
