"""Ingest routes: sensors, osquery, bulk requests, and setup requests of shippers."""
