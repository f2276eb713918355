"""Hosts with Linux and macOS: what happens there, as audit and Endpoint Security events."""
