"""Every Unicode scalar value in context, beside the references: `make exhaustive`. `make test` runs a part."""
