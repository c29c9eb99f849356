"""The version: stated once, read by the build and by the cache's key."""

VERSION = "0.1.0"
