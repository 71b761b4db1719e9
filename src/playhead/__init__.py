"""The context engine for LLM agents."""
