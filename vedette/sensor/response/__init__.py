"""Response actions that the server orders: bans, isolation, updates, uninstall."""
