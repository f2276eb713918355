"""Dependencies between stored Sigma documents, and the log sources that their rules need."""
