//===- ReportStyle.cpp - Looks and behaviour of a report ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the style sheet and the script of the page. Neither has a character that HTML and
// XML parsers read differently; without the script every link still leads to its row.
//
//===----------------------------------------------------------------------===//
#include "ReportParts.h"

const llvm::StringLiteral kbopt::report::styleSheet = R"css(
:root { color-scheme: light dark; --page: #ffffff; --card: #f6f7f9; --text: #1b1f24; --soft: #5b6572; --line: #d5dae1;
  --gain: #0a7d4b; --even: #3b74c4; --wrong: #c8321f; --open: #b07400; --none: #8a93a0; --refused: #8a4fb5;
  --win: #0a7d4b; --minus: #ffe3df; --plus: #dcf5e4; --minus-word: #ffb9b0; --plus-word: #a5e5ba; --heat: #f2b84b; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --card: #1d2126; --text: #e4e8ed; --soft: #9aa5b2; --line: #363d46;
    --gain: #45c98a; --even: #7eb0f5; --wrong: #ff7a68; --open: #e5ae4b; --none: #7c8795; --refused: #c596ea;
    --win: #45c98a; --minus: #3d1e1c; --plus: #16331f; --minus-word: #7a2f28; --plus-word: #23643a; --heat: #8f6314; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.2rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.1rem; margin: 0; font-weight: 600; } h1 .soft { font-weight: 400; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .4rem 0; }
a { color: inherit; }
code, pre, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .86em; }
code { overflow-wrap: anywhere; }
table code { overflow-wrap: break-word; }
.soft { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; }
.head { display: flex; flex-wrap: wrap; gap: .4rem 2.4rem; align-items: flex-end; }
.big { font-size: 2.9rem; line-height: 1.1; font-weight: 700; color: var(--win); }
.big.stays { color: var(--soft); }
.replay { display: flex; gap: .6rem; align-items: flex-start; margin-top: .9rem; }
.replay code { flex: 1; background: var(--page); border: 1px solid var(--line); border-radius: 6px; padding: .45rem .6rem; white-space: pre-wrap; }
button { font: inherit; font-size: .86em; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: 6px; padding: .4rem .7rem; cursor: pointer; }
nav { margin: .9rem 0 0; display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .9em; }
.pair { display: grid; gap: 0 2rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
.pair section { min-width: 0; }
.scroll { overflow: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.tall { max-height: 36rem; }
svg { display: block; font: 12px system-ui, "Segoe UI", Roboto, Arial, sans-serif; }
svg text { fill: var(--text); }
svg .soft { fill: var(--soft); color: var(--soft); }
.chart { width: 100%; min-width: 27rem; height: auto; }
.grid { stroke: var(--line); stroke-width: 1; fill: none; }
.axis { stroke: var(--soft); stroke-width: 1; fill: none; }
.best { stroke: var(--win); stroke-width: 2; fill: none; }
.mark { stroke-width: 1.6; fill: none; }
.mark.gain { fill: var(--gain); stroke: var(--gain); }
.mark.even { stroke: var(--even); fill: var(--card); }
.mark.wrong { stroke: var(--wrong); stroke-width: 2; }
.mark.open { stroke: var(--open); fill: var(--card); }
.mark.none { stroke: var(--none); stroke-width: 2; }
.mark.refused { stroke: var(--refused); fill: var(--card); }
.mark.root, .mark.late { stroke: var(--text); fill: var(--card); }
.mark.repair { stroke-dasharray: 2 2; }
svg a:hover .mark, svg a:focus .mark { stroke: var(--text); }
svg a { text-decoration: none; }
.ring { fill: none; stroke: var(--win); stroke-width: 1.6; }
.edge { stroke: var(--line); stroke-width: 1.4; fill: none; }
.edge.win { stroke: var(--win); stroke-width: 3; }
svg .label { paint-order: stroke; stroke: var(--card); stroke-width: 5px; stroke-linejoin: round; }
svg .label.win { font-weight: 700; fill: var(--win); }
.ceiling { stroke: var(--soft); stroke-width: 1.4; fill: none; }
.ceiling.outer { stroke: var(--text); stroke-width: 2; }
.point { stroke: var(--even); stroke-width: 1.8; fill: var(--card); }
.point.after { fill: var(--win); stroke: var(--win); }
.way { stroke: var(--soft); stroke-width: 1.4; stroke-dasharray: 4 3; fill: none; }
.legend { color: var(--soft); font-size: .86em; display: flex; flex-wrap: wrap; gap: 0 1.1rem; }
.legend span { display: inline-flex; gap: .3rem; align-items: center; }
table { border-collapse: collapse; width: 100%; font-size: .9em; }
th, td { text-align: left; vertical-align: top; padding: .28rem .6rem; border-bottom: 1px solid var(--line); }
thead th { background: var(--card); position: sticky; top: 0; font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 600; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.group th { color: var(--soft); padding-top: .8rem; }
tbody tr:target, tbody tr.here { background: var(--plus); }
.verdict { font-weight: 600; white-space: nowrap; }
.verdict.gain { color: var(--gain); } .verdict.even { color: var(--even); } .verdict.wrong { color: var(--wrong); }
.verdict.open { color: var(--open); } .verdict.none { color: var(--none); } .verdict.refused { color: var(--refused); }
.wide { min-width: 16rem; }
.text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12.5px; line-height: 1.45; table-layout: auto; }
.text td { border: 0; padding: 0 .5rem; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
.text td.no { color: var(--soft); text-align: right; user-select: none; width: 1%; white-space: nowrap; font-variant-numeric: tabular-nums; }
.text tr.gap td { color: var(--soft); padding: .25rem .5rem; border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); background: var(--page); font-family: system-ui, sans-serif; }
.text td.minus { background: var(--minus); } .text td.plus { background: var(--plus); }
.text td.minus b { background: var(--minus-word); font-weight: inherit; border-radius: 2px; }
.text td.plus b { background: var(--plus-word); font-weight: inherit; border-radius: 2px; }
.patch { table-layout: fixed; }
.patch col.no { width: 3.4rem; }
.heat td.share { width: 7.5rem; white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; position: relative; }
.heat td.share i { position: absolute; right: 0; top: 1px; height: 1.4em; background: var(--heat); border-radius: 2px; z-index: 0; }
.heat td.share span { position: relative; z-index: 1; }
.heat tr.hot td.line { background: color-mix(in srgb, var(--heat) 22%, transparent); }
.heat .note { display: block; color: var(--open); font-family: system-ui, sans-serif; }
.lesson { border-left: 3px solid var(--even); padding-left: .8rem; margin: .9rem 0; }
details summary { cursor: pointer; }
#detail { position: fixed; left: 0; right: 0; bottom: 0; max-height: 45vh; overflow: auto; background: var(--page);
  border-top: 2px solid var(--win); box-shadow: 0 -4px 18px rgba(0, 0, 0, .25); padding: .8rem 1.2rem; z-index: 9; }
#detail[hidden] { display: none; }
#detail dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; max-width: 72rem; }
#detail dt { color: var(--soft); } #detail dd { margin: 0; overflow-wrap: anywhere; }
#detail button { float: right; }
@media (max-width: 48rem) {
  body { padding: .8rem; }
  .big { font-size: 2.3rem; }
  .patch, .patch tbody { display: block; } .patch colgroup { display: none; }
  .patch tr { display: grid; grid-template-columns: 3rem 1fr; }
  .patch tr.gap { display: block; } .patch tr.gap td { display: block; }
  .patch td.no { width: auto; }
  .patch td.void, .patch tr.same td.right { display: none; }
  .heat td.share { width: 4rem; }
  .keep { min-width: 34rem; }
}
@media print { .tall { max-height: none; } button, nav, #detail { display: none; } }
)css";

const llvm::StringLiteral kbopt::report::script = R"js(
(function () {
  "use strict";
  var panel = document.getElementById("detail"), body = document.getElementById("detail-body"), marked = null;
  function close() {
    panel.hidden = true;
    if (marked) marked.classList.remove("here");
  }
  function show(row) {
    close();
    body.textContent = "";
    var heads = row.closest("table").querySelectorAll("thead th");
    row.querySelectorAll("td").forEach(function (cell, i) {
      if (!cell.textContent) return;
      var name = document.createElement("dt"), value = document.createElement("dd");
      name.textContent = heads[i].textContent;
      value.textContent = cell.textContent;
      body.append(name, value);
    });
    marked = row;
    row.classList.add("here");
    panel.hidden = false;
  }
  document.addEventListener("click", function (event) {
    var link = event.target.closest("svg a");
    var row = link ? document.getElementById(link.getAttribute("href").slice(1)) : null;
    if (!row) return;
    event.preventDefault();
    show(row);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") close();
  });
  document.getElementById("detail-close").addEventListener("click", close);
  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var source = document.getElementById(button.dataset.copy);
      getSelection().selectAllChildren(source);
      if (navigator.clipboard)
        navigator.clipboard.writeText(source.textContent).then(function () { button.textContent = "copied"; });
    });
  });
})();
)js";
