"""Division of hosts and commits among several servers with one state database."""
