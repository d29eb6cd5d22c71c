"""Every query of the rooms domain, a module each for sessions, messages and leases; decides nothing."""
