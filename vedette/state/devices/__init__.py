"""Devices: sensors as the cloud side sees them, and jobs that update them."""
