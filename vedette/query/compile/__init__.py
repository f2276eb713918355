"""Compiles typed trees to SQL conditions with bound values."""
