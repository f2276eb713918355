"""Analysis of a process: events, timeline, tree, streams."""
