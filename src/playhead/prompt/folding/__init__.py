"""From what is known of the past and what was loaded of it to a plan that tells each part once."""
