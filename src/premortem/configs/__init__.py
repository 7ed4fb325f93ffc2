"""Configuration files: where each value stands (for `premortem lint` too), and as the types that a program wants."""

from premortem.configs.loading import load_config

__all__ = ["load_config"]
