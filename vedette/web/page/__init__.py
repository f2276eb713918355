"""The page frame of the console: rendering, navigation, languages, shared templates."""
