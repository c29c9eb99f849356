"""The moves. Each module registers one or more moves under the names that rules/*.toml list."""
