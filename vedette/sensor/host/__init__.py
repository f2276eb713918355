"""Facts about the host, durable files, and how the program starts itself."""
