"""Who asks, what a key may do, and the service's secret."""
