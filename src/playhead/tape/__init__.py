"""The handle: one tape in one store, read through one context."""
