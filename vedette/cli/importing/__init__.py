"""`vedette import`: imports files of telemetry into a store, with or without a server."""
