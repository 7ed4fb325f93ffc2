"""premortem for coding agents: a Model Context Protocol server on stdio, and a text for AGENTS.md."""
