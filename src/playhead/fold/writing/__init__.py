"""How a summary is written by a model: the request, the ladder of requests where it fails, the pauses."""
