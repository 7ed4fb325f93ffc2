"""`premortem run`: the script in this process, the watcher that joins all rooms, and how both end."""
