"""Moving whole families of tapes: out of a store, into a store, and from one to the other."""
