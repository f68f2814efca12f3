"""Usage as vendors report it, one file for each wire form: every one becomes the domain's inclusive usage."""
