"""Easily confused: the server below has nothing to do with how settings are read."""

import yaml

config = yaml.safe_load(open("config.yaml"))
