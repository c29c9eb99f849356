"""ddelint: makes PyTorch code compile and export without data-dependent errors."""
