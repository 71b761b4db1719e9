"""How tasks, threads and processes take turns in a store, and hand work to each other."""
