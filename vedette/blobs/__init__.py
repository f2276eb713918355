"""Where bytes of files lie: one contract, a local directory, any S3-compatible bucket."""
