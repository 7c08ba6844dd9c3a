"""The engine in an editor: an agent that speaks the Agent Client Protocol on its standard streams."""
