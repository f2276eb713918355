"""What does each screen show? One module each: reads values, hands them to its template."""
