"""Views of events for rules: event classes, and values under the names that rules use."""
