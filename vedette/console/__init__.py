"""What do people see in a browser? Pages under `/ui/` over the same values as the API."""
