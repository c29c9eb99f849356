"""The language server: what editors show while code is written. Needs the extra `server` (pygls)."""
