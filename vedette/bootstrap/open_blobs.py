"""Opens the blob store that the settings name."""

from vedette.blobs.blob_store import BlobStore, OlderStore
from vedette.blobs.fallback_store import FallbackStore
from vedette.blobs.local_directory import LocalDirectory
from vedette.blobs.older_directories import OlderDirectories
from vedette.respond.installer_chunks import InstallerChunks
from vedette.settings import Settings
from vedette.state.db.database import Database


def open_blobs(settings: Settings, database: Database) -> FallbackStore:
    """The bucket of the settings, else `blobs/` of the data directory, over the older places.

    Does not connect: a bucket that cannot be reached fails the requests that need it, no others.
    Raises StartError for credentials that cannot be read.
    """
    local = LocalDirectory(settings.data / "blobs")
    local.delete_stale_drafts()
    older: list[OlderStore] = [OlderDirectories(settings.data), InstallerChunks(database)]
    if settings.blob_bucket:
        return FallbackStore(_bucket(settings), [local, *older])
    return FallbackStore(local, older)


def _bucket(settings: Settings) -> BlobStore:
    # The library has 16 MB and is for those who have a bucket.
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
