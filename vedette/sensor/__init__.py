"""The Linux sensor: a separate program that monitors one host and reports to the server.

It uses the standard library only and nothing of the server: it also runs as one zip file on a host
that has only Python 3.9. Imports inside the package are relative, so that the package may have any
name.
"""

SENSOR_VERSION = "1.0.0"
EVENT_FORMAT = 1
