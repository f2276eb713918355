"""How a request becomes durable rows."""
