"""Devices (sensors as the cloud side sees them) and the jobs that update them."""
