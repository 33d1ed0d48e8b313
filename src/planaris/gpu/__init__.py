"""Work on a GPU through torch: compiled at run time, imported only when a device is asked for."""
