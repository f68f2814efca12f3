"""What the counting routes do: decode the body, count, encode the answer."""
