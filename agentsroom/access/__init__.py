"""Who may act: teams, agents, keys and browser logins."""
