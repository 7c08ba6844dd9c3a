"""The app in a browser: one child process for each app, which outlives its page and the page's socket."""
