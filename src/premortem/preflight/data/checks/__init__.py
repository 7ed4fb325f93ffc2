"""What can be wrong with data, one file each. To add one: write its file and add it to ALL in the package above."""
