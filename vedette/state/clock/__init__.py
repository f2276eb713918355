"""Detection of a wrong wall clock, and the stored reading that makes it work across restarts."""
