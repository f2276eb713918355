"""Turns detections into alerts, messages and automatic responses. Each detection takes effect once,
even if the server is killed between two steps."""
