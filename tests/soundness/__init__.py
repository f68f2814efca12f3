"""The extension's core built in other ways: under sanitizers, for other processors: `make sanitize`, `make arm64`."""
