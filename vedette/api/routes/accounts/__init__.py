"""Routes of users, teams, tokens, the approved list and the audit log."""
