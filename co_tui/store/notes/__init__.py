"""Texts that outlive a session, in files: checkpoints, daily memory, context boards."""
