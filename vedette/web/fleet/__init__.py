"""Hosts, sensor groups, sites, installers, jobs and live queries."""
