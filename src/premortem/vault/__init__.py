"""The vault: checkpoints that cannot be lost, torn or poisoned."""
