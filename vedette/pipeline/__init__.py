"""The write path: turns submissions of records into durable rows."""
