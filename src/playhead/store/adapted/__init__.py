"""A user's store made whole: what it lacks is done with the four methods it has."""
