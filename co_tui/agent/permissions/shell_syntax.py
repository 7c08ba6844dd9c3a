"""The parser under the name by which work on another host imports it."""

from co_tui.shell.syntax import Compound, NotUnderstood, Piece, Redirect, ShellCommand, Statement, Word, parse

__all__ = ["Compound", "NotUnderstood", "Piece", "Redirect", "ShellCommand", "Statement", "Word", "parse"]
