"""Chat templates and picture headers, behind the domain's ports."""
