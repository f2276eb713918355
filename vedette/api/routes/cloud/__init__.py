"""Routes of the cloud side: identity, alerts v7, devices, sensor-update jobs, forwarders."""
