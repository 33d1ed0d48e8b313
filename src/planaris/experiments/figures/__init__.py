"""Published figures, each a module with a constant ``FIGURE``; large ones are folders."""
