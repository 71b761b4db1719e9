"""Who answers: models of every provider behind one protocol."""
