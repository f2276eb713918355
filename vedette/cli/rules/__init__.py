"""Commands for rules: those of a server, and any rules applied to files."""
