"""What theory says about recovery (GRSY15): bounds on the error, expansion, wrong regions."""
