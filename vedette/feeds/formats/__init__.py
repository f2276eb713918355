"""Formats of published intelligence: each parser yields reports piece by piece."""
