"""How several servers on one state database share hosts and commits out among themselves."""
