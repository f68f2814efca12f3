"""Speed beside peers: ratios of one run, never a verdict. ``make bench`` prints them."""
