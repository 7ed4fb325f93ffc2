"""What several detectors share: facts derived once for all of them, and words."""
