"""Calls that need approval, and approvals that last longer."""
