"""What the model sees: a budget, a plan, and the prompt made from it."""
