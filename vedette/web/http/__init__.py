"""The transport: access, request bodies, errors, and the services that handlers use."""
