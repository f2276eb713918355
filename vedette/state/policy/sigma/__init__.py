"""Dependencies between stored Sigma documents."""
