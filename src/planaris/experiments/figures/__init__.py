"""One module per published figure, with a constant ``FIGURE``."""
