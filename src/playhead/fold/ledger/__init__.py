"""What a fold sidecar says: entries, the forest they come to, and the memory that keeps it up to date."""
