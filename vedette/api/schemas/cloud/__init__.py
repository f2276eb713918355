"""JSON of the cloud side."""
