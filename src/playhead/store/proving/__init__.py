"""What every database store proves of its entries and of what it says of its tapes."""
