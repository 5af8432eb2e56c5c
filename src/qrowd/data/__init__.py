"""The nouns: numpy only, frozen, no input or output."""
