"""Tree to typed tree: what every leaf means."""
