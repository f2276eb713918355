"""Users, teams, tokens and what a principal may see."""
