"""One module per sub-command; each imports what it needs when it runs."""
