"""JSON helpers that several areas share: parameters, body members, schemas."""
