"""Themes, contrast and reduced motion."""
