"""What detection finds and what is kept of it: hits, detections, alerts, tags, feeds, actions."""
