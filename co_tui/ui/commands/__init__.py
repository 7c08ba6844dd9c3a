"""What the commands do: a row of the table in `command_table` for each, and a function in the module of its group."""
