#include "cli/html_style.h"

namespace vtower::cli {

const std::string_view html_style = R"css(
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1b1f24; --quiet: #5b6570; --line: #d9dee4; --panel: #f5f7f9;
  --green: #1a7f37; --red: #c5221f; --amber: #9a6700; --blue: #1f5fbf; --band: #1f5fbf33;
  --green-paper: #e8f6ec; --red-paper: #fdecea; --amber-paper: #fff6dc;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --ink: #e4e8ec; --quiet: #98a3ae; --line: #323a43; --panel: #1c2229;
    --green: #56d364; --red: #ff7b72; --amber: #e3b341; --blue: #79b8ff; --band: #79b8ff33;
    --green-paper: #12281a; --red-paper: #321615; --amber-paper: #2d2410;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.7rem; margin: 0; line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; break-after: avoid; }
h3 { font-size: 1rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
p { margin: .4rem 0; }
code { font: .92em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.banner { border-left: .5rem solid; border-radius: .3rem; padding: 1rem 1.2rem; }
.banner p { color: var(--ink); }
.agree { border-color: var(--green); background: var(--green-paper); }
.differ { border-color: var(--red); background: var(--red-paper); }
.unsure { border-color: var(--amber); background: var(--amber-paper); }
.agree h1, td.agree { color: var(--green); }
.differ h1, td.differ { color: var(--red); }
.unsure h1, td.unsure { color: var(--amber); }
td.agree, td.differ, td.unsure { background: none; font-weight: 600; }
.cause { font-size: 1.15rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--quiet); }
.numbers { width: 100%; font-size: .93em; line-height: 1.35; }
.numbers th, .numbers td { overflow-wrap: normal; }
.numbers td + td { white-space: nowrap; }
.numbers td:first-child { min-width: 11rem; overflow-wrap: anywhere; }
.numbers .more > td { border-bottom: 1px solid var(--line); padding-left: 1rem; color: var(--quiet); }
.more ul, .more p { margin: .1rem 0 .3rem; }
.numbers .has-more > td { border-bottom: 0; }
.json { font-size: .9em; }
.json td, .json th { padding: .12rem .8rem .12rem 0; }
.json .json { font-size: 1em; }
.item { border-top: 1px solid var(--line); padding: 1rem 0; break-inside: avoid; }
.groups { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: .6rem; }
.group { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; width: 22rem; max-width: 100%; break-inside: avoid; }
figure.wide { width: 100%; }
figcaption { color: var(--quiet); font-size: .87em; margin-top: .25rem; }
input.lay { margin: 0 .4rem 0 0; vertical-align: -.1em; }
.stack { position: relative; background: repeating-conic-gradient(#8884 0 25%, #8882 0 50%)
  0 0 / 16px 16px; border-radius: .2rem; overflow: hidden; }
.stack img, .stack svg { display: block; width: 100%; height: 100%; }
.stack > :not(:first-child) { position: absolute; inset: 0; }
.tokens { image-rendering: pixelated; }
.lay:checked ~ .groups .photo { filter: grayscale(1) contrast(.85); }
.lay:not(:checked) ~ .groups .heat { visibility: hidden; }
.mark { fill: none; stroke: #fff; stroke-width: 2; vector-effect: non-scaling-stroke; }
.mark.under { stroke: #d00; stroke-width: 5; }
svg text { fill: var(--quiet); font-size: 12px; }
svg.legend { width: 34rem; max-width: 100%; }
svg.legend rect { shape-rendering: crispEdges; }
svg.legend line { stroke: var(--quiet); }
svg.depth { width: 100%; background: var(--panel); border-radius: .3rem; }
.depth .grid { stroke: var(--line); }
.depth .floor { fill: var(--band); }
.depth .limit { fill: none; stroke: var(--quiet); stroke-dasharray: 5 4; }
.depth .error { fill: none; stroke: var(--blue); stroke-width: 2; }
.depth .right { fill: var(--blue); }
.depth .wrong { fill: var(--red); }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
summary { cursor: pointer; font-weight: 600; }
details > .scroll { margin-top: .6rem; }
td details { border: 0; padding: 0; }
footer { margin-top: 2.5rem; color: var(--quiet); font-size: .87em; }
@media print {
  :root { --paper: #fff; --ink: #000; --quiet: #444; --line: #bbb; --panel: #fff; }
  body { max-width: none; padding: 0; font-size: 11px; print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
  html { font-size: 10px; }  /* three pictures beside each other on A4 and letter */
}
)css";

}  // namespace vtower::cli
