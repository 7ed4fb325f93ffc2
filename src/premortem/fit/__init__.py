"""Does it fit? The user's own step, run without arithmetic, on a card that is not there."""
