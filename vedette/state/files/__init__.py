"""Files of programs: which copies there are, and which are to come."""
