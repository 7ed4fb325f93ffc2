NAME = "of the user's own"
