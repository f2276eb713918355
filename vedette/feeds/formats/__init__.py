"""How published intelligence is written: each format becomes reports, piece by piece."""
