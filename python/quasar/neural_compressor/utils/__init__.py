"""Where Neural Compressor's package keeps words for dictionaries."""
