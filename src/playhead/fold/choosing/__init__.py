"""What is to be summarised next, and what may not be: chunks, windows, holds, the schedule, the debt."""
