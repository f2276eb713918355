"""Finds the headers and boundaries of records without decoding them."""
