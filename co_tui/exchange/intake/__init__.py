"""From the sessions of a file to the store: new, continued where they grew, forked where both sides went on."""
