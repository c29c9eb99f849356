"""What code means: names, kinds, regions, polarity, read off `ast`. Nothing here writes code or loads libcst."""
