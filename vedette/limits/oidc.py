"""Sign-in with identities of other servers (OpenID Connect)."""

IDENTITY_PROVIDERS_MAX = 20
"""Providers that one server knows: each has a button on the sign-in page."""

IDENTITY_PROVIDER_TEAMS_MAX = 500
"""Pairs of a claim's value and a team, of one provider."""

IDENTITIES_PER_USER_MAX = 20
"""Identities that are one user."""

ISSUER_CHARS_MAX = 500
"""Characters of an issuer: a URL, which is compared with every token's."""

SUBJECT_CHARS_MAX = 255
"""Characters of a subject, as OpenID Connect bounds it."""

CLAIM_NAME_CHARS_MAX = 100
"""Characters of the name of a claim."""

CLAIM_VALUES_MAX = 1_000
"""Values of the claim that says teams: directories name each group that somebody is in."""

PROVIDER_SECRET_CHARS_MAX = 2_000
"""Characters of the secret that this server has at a provider."""

IDENTITY_SIGN_IN_S = 10 * 60
"""Seconds that somebody may spend at the provider. Less than `SIGN_IN_WINDOW_S`, for which it is
kept that an attempt was finished."""

IDENTITY_SIGN_INS_OF_ADDRESS_MAX = 200
"""Attempts that an address may finish in `SIGN_IN_WINDOW_S`. Nothing can be guessed with them, but
each costs a request to the provider."""

PROVIDER_TOTAL_S = 10
"""Seconds that one request to a provider may take once it is connected: somebody waits before the
page."""

PROVIDER_DOCUMENT_BYTES_MAX = 512 * 1024
"""Bytes of an answer of a provider: metadata, keys, tokens."""

PROVIDER_KEYS_MAX = 100
"""Keys of a provider that are looked at."""

PROVIDER_DOCUMENTS_S = 3600
"""Seconds for which metadata and keys of a provider are believed unread."""

PROVIDER_FAILURE_S = 5
"""Seconds for which a provider that failed is not asked again: a page that is loaded again and
again must not hold a thread each time."""

PROVIDER_KEYS_REREAD_S = 10
"""Seconds at least between two reads of keys because a token named an unknown one: anybody can name
one."""

PROVIDER_REQUESTS_MAX = 4
"""Requests to providers at once; more wait for their turn."""

PROVIDER_CLOCK_S = 60
"""Seconds by which the clock of a provider may differ."""

ID_TOKEN_AGE_S = 15 * 60
"""Seconds after which an ID token is too old to begin a session with, whatever its own end."""

RSA_KEY_BITS_MIN = 2048
"""Bits of an RSA key at least: shorter ones are no proof any more."""

REASON_SHOWN_CHARS = 200
"""Characters of the reason of a failed sign-in in the log and the audit log."""

PROVIDER_NAME_CHARS_MAX = 40
"""Characters of a provider's name: it is a part of addresses."""

PROVIDER_CODE_CHARS_MAX = 4_000
"""Characters of an authorization code; providers that keep no state put all of it in there."""
