"""Where files come from: directories, archives, streams of bytes."""
