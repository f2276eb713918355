"""Records in the order of event time, those that explain others first."""
