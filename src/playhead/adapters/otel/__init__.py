"""OpenTelemetry: spans and metrics by the conventions for generative AI."""
