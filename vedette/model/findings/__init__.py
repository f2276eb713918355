"""Results of detection: hits, detections, alerts, tags, actions and response policies."""
