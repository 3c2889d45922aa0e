"""What runs cells, inside the walls: IPython's shell in one thread, behind one socket."""
