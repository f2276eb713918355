"""Opens the configured blob store."""

from vedette.blobs.blob_store import BlobStore, OlderStore
from vedette.blobs.fallback_store import FallbackStore
from vedette.blobs.local_directory import LocalDirectory
from vedette.blobs.older_directories import OlderDirectories
from vedette.respond.installer_chunks import InstallerChunks
from vedette.settings import Settings
from vedette.state.db.database import Database


def open_blobs(settings: Settings, database: Database) -> FallbackStore:
    """Returns the configured bucket, or `blobs/` in the data directory, with fallback to older
    locations.

    Does not connect: an unreachable bucket only fails requests that need it. Raises StartError for
    unreadable credentials.
    """
    local = LocalDirectory(settings.data / "blobs")
    local.delete_stale_drafts()
    older: list[OlderStore] = [OlderDirectories(settings.data), InstallerChunks(database)]
    if settings.blob_bucket:
        return FallbackStore(_bucket(settings), [local, *older])
    return FallbackStore(local, older)


def _bucket(settings: Settings) -> BlobStore:
    # The client library needs 16 MB, so it is imported only for a bucket.
    from vedette.blobs.s3_bucket import Bucket, S3Bucket, credentials_in

    file = settings.blob_credentials_file
    bucket = Bucket(
        name=settings.blob_bucket,
        prefix=settings.blob_prefix.strip("/"),
        endpoint=settings.blob_endpoint,
        region=settings.blob_region,
        credentials=None if file is None else credentials_in(file),
    )
    return S3Bucket(bucket, settings.blob_deadline_s)
