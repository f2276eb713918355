"""Programs (binaries): search, files, icons and YARA."""
