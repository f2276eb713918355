"""Actions (mail, webhooks) and their outbox."""
