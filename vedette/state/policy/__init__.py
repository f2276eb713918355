"""Configuration of hosts: groups, sites, bans, ingress filters."""
