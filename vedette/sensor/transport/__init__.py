"""To the server and back: queue on disk, HTTPS, check-ins."""
