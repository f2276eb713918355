"""What rules can be asked on the command line: those of a server, and any over files."""
