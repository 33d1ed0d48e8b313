"""Arrays in, arrays out: the only package that talks to the compiled core."""
