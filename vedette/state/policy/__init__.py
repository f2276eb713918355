"""Policies: sensor groups, sites, bans, ingress filters, detection rules, actions, feeds, and alert
workflow."""
