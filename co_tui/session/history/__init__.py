"""The history as one model gets it: measured, fitted and edited."""
