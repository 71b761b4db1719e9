"""A prompt as one page: what the model saw, what fell out, and why."""
