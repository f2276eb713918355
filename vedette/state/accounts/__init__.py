"""Users, teams, tokens and scopes."""
