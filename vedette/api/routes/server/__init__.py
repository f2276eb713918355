"""Routes of the server itself: health, documents, partitions."""
