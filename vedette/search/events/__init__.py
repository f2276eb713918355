"""The events of one process: preview, timeline, counts by facet."""
