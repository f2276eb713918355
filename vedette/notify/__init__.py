"""How people and other systems are notified: one module a kind of target, behind an outbox."""
