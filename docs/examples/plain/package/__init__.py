"""For `premortem run -m package.train`."""
