"""What stands in the files: lines, headers, ends, and a tape read over all files it is shown from."""
