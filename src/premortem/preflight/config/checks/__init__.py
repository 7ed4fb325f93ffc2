"""What can be said of the settings; one file each."""
