"""Wiring: builds engines from settings, and the application from engines. The only package that
names concrete engines."""
