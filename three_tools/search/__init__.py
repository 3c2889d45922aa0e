"""Where searches go: the web through Tavily, or a folder of documents the user owns."""
