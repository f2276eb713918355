"""Converts Sigma rules to Vedette's rules. pySigma parses; this package decides what they mean."""
