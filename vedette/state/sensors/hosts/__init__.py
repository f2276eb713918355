"""Lookup of the sensor for a host name and a sender, and aliases."""
