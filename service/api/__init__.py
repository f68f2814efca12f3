"""The HTTP surface: wire forms, errors, limits and routes. A route parses, makes one domain call and answers."""
