"""The Linux sensor: a small program of its own that watches a host and reports to the server.

Standard library only, and nothing of the server: it also runs as a zip file on a host that has
only Python. Imports inside are relative, so that the package may be called anything.
"""

SENSOR_VERSION = "1.0.0"
EVENT_FORMAT = 1
