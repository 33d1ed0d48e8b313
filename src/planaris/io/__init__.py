"""Foreign files and objects to models and back; the only place signs change."""
