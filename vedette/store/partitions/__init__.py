"""Time partitions: roll, unmount, mount, delete, retention."""
