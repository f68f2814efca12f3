"""Vendors' wire forms, one file each."""
