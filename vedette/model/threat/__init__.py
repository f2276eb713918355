"""What feeds say: reports, indicators, and the columns and fields they are stored and found by."""
