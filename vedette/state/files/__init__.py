"""Copies of program files, orders for further copies, and YARA rules."""
