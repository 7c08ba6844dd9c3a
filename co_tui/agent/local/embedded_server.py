"""The child process that runs a weights file: an OpenAI-compatible server on a loopback port.

Requests need the key from its environment. It prints one JSON line with its address, then serves until its standard
input closes, which happens whenever the app ends, even if it is killed.
"""

import json
import os
import sys

from co_tui.shielding import shield_process


def main() -> None:
    shield_process()
    weights, context_tokens, alias, *extra_site = sys.argv[1:]
    sys.path.extend(extra_site)
    # The server writes its log to standard output; the address line must be alone there.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = weights
    parameters.model_alias = {alias}
    parameters.n_ctx = int(context_tokens)
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    # Other users of this machine can reach the port, too.
    parameters.api_keys = [os.environ["CO_TUI_SERVER_KEY"]]
    parameters.endpoint_slots = False
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    print(json.dumps({"address": server.listening_address}), file=answer, flush=True)
    while sys.stdin.buffer.read(4096):
        pass
    # The server's own shutdown can wait for a reply in progress; no client is left to read it.
    os._exit(0)


if __name__ == "__main__":
    main()
