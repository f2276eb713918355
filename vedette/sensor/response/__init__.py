"""What the server asks for: bans, isolation, updates, uninstall."""
