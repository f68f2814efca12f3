"""What the costed routes do: a call's price before it is made, and what a usage cost."""
