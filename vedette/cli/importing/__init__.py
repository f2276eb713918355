"""`vedette import`: how do files of telemetry get into a store, with or without a server?"""
