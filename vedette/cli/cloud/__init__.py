"""`vedette cloud`: who may use the cloud side."""
