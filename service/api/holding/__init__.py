"""Reservations and usage: what is held for a call, and what is booked for it."""
