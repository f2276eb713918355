"""Memory of the process: malloc settings, and pages that only the start needs."""
