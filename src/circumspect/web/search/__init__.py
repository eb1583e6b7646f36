"""Web search: a query and the page it is about -> results, from Tavily, SearXNG or the tenant's own documents."""
