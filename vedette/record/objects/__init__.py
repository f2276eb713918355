"""The definitions of managed objects, one module for each."""
