"""The app in a browser: one page, one socket, one child process for each that is open."""
