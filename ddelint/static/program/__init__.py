"""What files define, import and call, most of it read off their text."""
