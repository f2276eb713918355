"""Tables, columns and indexes: making and upgrading them."""
