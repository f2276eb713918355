"""Commands for users, their permissions, and the audit log."""
