"""Communication with the server: queue on disk, HTTPS client, enrolment, check-in, uploads."""
