"""What is learned of a host that completes its records."""
