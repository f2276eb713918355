"""A package, so that its browser and its server end with its last test: `scope="package"`."""
