"""How the outside reaches the domains: MCP, HTTP, pages and streams; decides nothing itself."""
