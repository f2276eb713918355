"""Process search and analysis: results, facets, timeline, tree and streams."""
