"""What is set for hosts: groups, sites, bans, ingress filters."""
