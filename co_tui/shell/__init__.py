"""Reads shell text: exactly, to judge it, or any text roughly, to sum it up. Both read the same tree."""
