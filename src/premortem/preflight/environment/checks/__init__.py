"""What can be said of the machine and the folders; one file each."""
