"""What past calls tell of new ones."""
