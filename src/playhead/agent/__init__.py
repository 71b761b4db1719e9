"""The agent: a loop of model and tools whose memory is a tape."""
