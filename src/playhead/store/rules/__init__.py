"""What is decided alike in every store: what an append, a fork, a lease comes to, and what is refused."""
