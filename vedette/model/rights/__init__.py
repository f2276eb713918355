"""Authorization: permissions of the cloud side, and the check of every change."""
