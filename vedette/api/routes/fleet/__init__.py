"""Routes of sensors, groups, sites and installers."""
