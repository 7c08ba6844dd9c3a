"""Dialogs that several features share."""
