"""Checks of a server that find what is wrong with it and say what to do about it."""
