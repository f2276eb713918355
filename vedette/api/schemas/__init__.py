"""JSON shapes of the API, in and out."""
