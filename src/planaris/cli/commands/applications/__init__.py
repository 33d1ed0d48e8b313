"""Commands for images and quantum codes."""
