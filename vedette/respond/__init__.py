"""Decisions about hosts and their telemetry, with previews of their effects: orders that sensors
get at check-in, trials of filters, reach of bans and isolation, installers, and copies of
programs."""
