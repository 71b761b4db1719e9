"""What ties playhead to other systems that its users run."""
