"""The worker program on a machine that is so busy that it takes LATE_S to start."""

import time

from vedette.bootstrap.ingest_workers import main

LATE_S = 5.0

if __name__ == "__main__":
    time.sleep(LATE_S)
    main()
