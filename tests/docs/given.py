"""What the pages take for granted: somebody's model, data and training function."""
