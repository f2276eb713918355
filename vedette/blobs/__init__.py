"""Storage of file bytes: one contract, implemented by a local directory and any S3-compatible
bucket."""
