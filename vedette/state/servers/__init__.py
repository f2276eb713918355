"""What the servers of a cluster share out among themselves: hosts, numbers of commits, counts."""
