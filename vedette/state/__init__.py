"""Control state: who may do what, and which hosts there are. SQLite or PostgreSQL."""
