"""`vedette cloud`: roles, apps and keys of the cloud API."""
