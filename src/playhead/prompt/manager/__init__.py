"""The context manager: messages in, memory kept, prompts out."""
