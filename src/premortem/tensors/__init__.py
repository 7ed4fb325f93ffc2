"""Small questions about tensors that several rooms ask."""
