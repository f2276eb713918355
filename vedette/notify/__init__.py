"""Notification of people and other systems: one module per kind of target, behind an outbox."""
