"""What happens by itself, and when: the scheduler of background jobs."""
