"""Processes beside ours: started, listened to, bounded and ended."""
