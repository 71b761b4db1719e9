"""Looking after the files: proving, copying and saving them."""
