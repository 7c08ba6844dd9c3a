"""Policies: files of settings, and files of code."""
