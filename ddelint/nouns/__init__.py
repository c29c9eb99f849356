"""What all rooms speak of: frozen, free of torch, and cheap to import."""
