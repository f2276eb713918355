"""What is decided about hosts and their telemetry, and what a decision would do: orders that
sensors get at check-in, trials of filters, where a banned program runs, installers."""
