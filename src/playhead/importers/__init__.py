"""Other people's histories: files of other programs read onto a tape."""
