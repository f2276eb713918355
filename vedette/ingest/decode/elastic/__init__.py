"""Decodes documents of the Elastic Common Schema (ECS)."""
