"""What every domain stands on: settings, errors, the store, the event feed and the tool registry; knows no domain."""
