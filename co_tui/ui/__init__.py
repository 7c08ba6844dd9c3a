"""What is seen: the full-screen app. The only part that imports Textual."""
