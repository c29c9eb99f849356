"""Which facts always hold: collected from origins, checks and tests, decided by elimination over the integers."""
