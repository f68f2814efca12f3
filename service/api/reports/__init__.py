"""Reports: spend by interval and group, single entries, refusals; as JSON or CSV."""
