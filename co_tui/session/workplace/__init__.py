"""Where a session works: a folder of this machine (here/), or one on another host (host/)."""
