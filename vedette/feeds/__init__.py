"""How threat intelligence gets in and what it matches: fetching, formats, synchronisation,
indicators."""
