"""Rooms: sessions, messages and their deliveries, leases, baselines and drift."""
