"""Is a resumed run the run that was interrupted? The user's own script says, saved, killed and started again."""
