"""How well a store is: what is damaged, lost or amiss, and what to do next."""
