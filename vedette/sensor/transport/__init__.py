"""Communication with the server: queue on disk, HTTPS client, enrollment, uploads."""
