"""Typed tree to SQL conditions with bound values."""
