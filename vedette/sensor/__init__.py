"""The Linux sensor: a separate program that monitors a host and reports to the server.

It uses only the standard library and no code of the server: it also runs as a single zip file on a
host that has only Python 3.9. Imports inside the package are relative, so that the package may have
any name.
"""

SENSOR_VERSION = "1.0.0"
EVENT_FORMAT = 1
