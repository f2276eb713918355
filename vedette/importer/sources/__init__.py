"""Finds files and reads their bytes: directories, archives and streams."""
