"""Hosts and their sensors: enrolment, check-ins, orders, queues, packages."""
