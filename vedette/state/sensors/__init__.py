"""Hosts and their sensors: enrolment, check-ins, queues, packages."""
