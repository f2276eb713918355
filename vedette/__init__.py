"""Vedette, an endpoint detection and response server."""

__version__ = "0.1.0"
