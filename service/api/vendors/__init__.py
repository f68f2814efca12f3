"""Vendors' own counting endpoints, one file each: their paths, bodies, answers, headers and errors."""
