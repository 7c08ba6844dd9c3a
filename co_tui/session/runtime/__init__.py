"""What a session works with: model, policy, tools, history."""
