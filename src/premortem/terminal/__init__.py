"""What a person sees of a run in the terminal: cards, the status line, and what the script prints beside them."""
