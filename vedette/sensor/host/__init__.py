"""Facts about the host, and how the program starts itself."""
