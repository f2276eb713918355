"""How people and other systems are told: one module a kind of target, behind an outbox."""
