"""How the page looks, dark or light as its reader has it."""

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1f2328; --dim: #656d76; --edge: #d0d7de; --soft: #f6f8fa; --you: #0969da; --mark: #8250df;
  --bad: #cf222e; --good: #116329; --key: #8250df; --string: #0a3069; --number: #953800; --added: #dafbe1;
  --removed: #ffebe9; --added-word: #aceebb; --removed-word: #ffcecb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0d1117; --ink: #e6edf3; --dim: #8d96a0; --edge: #30363d; --soft: #161b22; --you: #58a6ff; --mark: #bc8cff;
    --bad: #ff7b72; --good: #7ee787; --key: #d2a8ff; --string: #a5d6ff; --number: #ffa657; --added: #12301b;
    --removed: #3c1618; --added-word: #1f5a2d; --removed-word: #7a2229;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
.about, .happening, time { color: var(--dim); font-size: .85rem; }
.about { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 1rem; }
.about dt { display: inline; } .about dd { display: inline; margin: 0 0 0 .35rem; color: var(--ink); }
.filling { width: 100%; height: auto; margin: .5rem 0 1.5rem; }
.filling .area { fill: var(--you); opacity: .15; } .filling .line { fill: none; stroke: var(--you); stroke-width: 1.5; }
.filling .level { stroke: var(--edge); } .filling .limit { stroke: var(--bad); stroke-dasharray: 4 3; }
.filling .label { fill: var(--dim); font-size: 11px; } .filling .mark { fill: var(--mark); font-size: 13px; }
article { margin: 1.1rem 0; } article > header { display: flex; justify-content: space-between; gap: 1rem; }
article > header b { font-size: .9rem; } .user > header b { color: var(--you); }
.user > .text { border-left: 3px solid var(--you); padding-left: .75rem; }
img { display: block; max-width: min(100%, 40rem); max-height: 30rem; margin: .5rem 0; border-radius: 4px; }
details > img { margin: .6rem; }
.plain { white-space: pre-wrap; }
.text > :first-child { margin-top: .3rem; } .text > :last-child { margin-bottom: .3rem; }
.agent { margin-left: 1.5rem; }
details { border: 1px solid var(--edge); border-radius: 6px; margin: .6rem 0; }
summary { cursor: pointer; padding: .3rem .6rem; font-size: .85rem; color: var(--dim); }
summary b { color: var(--ink); font-weight: 600; } .failed summary b { color: var(--bad); }
details > pre, details > .text { margin: 0; padding: .5rem .6rem; border-top: 1px solid var(--edge); }
pre, code { font: .85rem/1.45 ui-monospace, monospace; background: var(--soft); }
pre { overflow-x: auto; padding: .6rem; white-space: pre-wrap; } code { padding: .1em .25em; } pre code { padding: 0; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--edge); padding: .2rem .5rem; }
.happening { margin: .6rem 0; } .compaction summary, .compaction { color: var(--mark); font-weight: 600; }
.cut { color: var(--bad); font-size: .85rem; }
a { color: var(--you); } .address, .dim { color: var(--dim); } .address { font-size: .85em; }
blockquote { margin: .6rem 0; padding: 0 0 0 .75rem; border-left: 3px solid var(--edge); color: var(--dim); }
li.task { list-style: none; margin-left: -1.2em; }
.diff { padding: .6rem; } .diff .added { background: var(--added); } .diff .removed { background: var(--removed); }
.diff mark { color: inherit; font-weight: 600; } .added mark { background: var(--added-word); }
.removed mark { background: var(--removed-word); }
pre code [class^="k"], pre code .ow { color: var(--key); } pre code [class^="s"] { color: var(--string); }
pre code [class^="c"] { color: var(--dim); } pre code [class^="m"] { color: var(--number); }
pre code .nf, pre code .nc, pre code .nd, pre code .nb, pre code .nt { color: var(--you); }
pre code .gi { color: var(--good); } pre code .gd { color: var(--bad); }
"""
