"""OpenID Connect: sign-in with an identity provider."""

SUBJECT_CHARS_MAX = 255
"""Maximum characters of a subject (the limit of OpenID Connect)."""

IDENTITY_SIGN_IN_S = 10 * 60
"""Time that a user may spend at the provider. Shorter than `SIGN_IN_WINDOW_S`, for which the server
remembers that an attempt was completed."""

PROVIDER_DOCUMENT_BYTES_MAX = 512 * 1024
"""Maximum bytes of a provider's response: metadata, keys, tokens."""

REASON_SHOWN_CHARS = 200
"""Maximum characters of the reason of a failed sign-in in the log and the audit log."""
