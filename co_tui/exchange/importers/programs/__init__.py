"""One module a program, with how to recognise and load what it wrote."""
