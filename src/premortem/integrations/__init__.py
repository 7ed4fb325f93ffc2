"""Doors into other people's tools. Each only translates to `premortem.watch`; nothing of premortem imports them."""
