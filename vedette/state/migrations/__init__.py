"""Migrations of the state database's schema (Alembic)."""
