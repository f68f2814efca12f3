"""What the routes that save do: advice on a call, and a chat cut to a limit."""
