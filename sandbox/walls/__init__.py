"""What keeps a cell in: each wall in a module of its own, put up in one order by `wall_in`."""
