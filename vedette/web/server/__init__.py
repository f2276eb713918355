"""The server itself: health, partitions, backup, settings, the OpenAPI document, the home page."""
