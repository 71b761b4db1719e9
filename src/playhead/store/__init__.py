"""Where tapes are kept."""
