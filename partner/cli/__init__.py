"""The command line: data on stdout, everything a person watches on stderr."""
