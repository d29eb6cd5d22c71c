"""The rules of the rooms domain, each function reading like its rule: guards, one act, the event."""
