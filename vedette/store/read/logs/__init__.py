"""Event records as log search reads them."""
