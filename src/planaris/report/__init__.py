"""Pictures, tables and pages of results."""
