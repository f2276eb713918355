"""Search of threat reports."""
