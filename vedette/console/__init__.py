"""The web console: pages under `/ui/` that analysts and operators work in."""
