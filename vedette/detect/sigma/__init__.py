"""Sigma rules as Vedette's own rules: parsed with pySigma, every meaning decided here."""
