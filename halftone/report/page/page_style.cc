// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/page_parts.h"

namespace halftone::report::page {

namespace {

constexpr std::string_view kPageStyle = R"css(
:root,:root[data-theme=light]{color-scheme:light;--paper:#fff;--box:#f6f8fa;--text:#1f2328;--muted:#59636e;--grid:#d1d9e0;
--hue-1:#0969da;--hue-2:#bc4c00;--hue-3:#1a7f37;--hue-4:#8250df;--hue-5:#9a6700;--hue-6:#bf3989}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;
--paper:#0d1117;--box:#151b23;--text:#e6edf3;--muted:#9198a1;--grid:#3d444d;
--hue-1:#4493f8;--hue-2:#f0883e;--hue-3:#3fb950;--hue-4:#ab7df8;--hue-5:#d29922;--hue-6:#db61a2}}
:root[data-theme=dark]{color-scheme:dark;--paper:#0d1117;--box:#151b23;--text:#e6edf3;--muted:#9198a1;--grid:#3d444d;
--hue-1:#4493f8;--hue-2:#f0883e;--hue-3:#3fb950;--hue-4:#ab7df8;--hue-5:#d29922;--hue-6:#db61a2}
*{box-sizing:border-box}
body{margin:0 auto;max-width:90rem;padding:0 1rem 3rem;background:var(--paper);color:var(--text);
font:15px/1.5 system-ui,sans-serif}
a{color:var(--hue-1)}
h1{font-size:1.5rem;margin:1rem 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--grid)}
h3{font-size:1rem;margin:1rem 0 .25rem;overflow-wrap:anywhere}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:0;background:var(--box);padding:.5rem}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;margin:.5rem 0;padding:0}
.note{color:var(--muted);max-width:60rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}
caption{text-align:left;color:var(--muted);padding:.25rem 0}
th,td{padding:.15rem .45rem;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}
th[scope=row]{font-weight:400;min-width:8rem;max-width:26rem;overflow-wrap:anywhere}
thead th{background:var(--box);vertical-align:bottom}
.n{text-align:right}
.r0 td:nth-child(1),.r1 td:nth-child(2),.r2 td:nth-child(3),.r3 td:nth-child(4),
.r4 td:nth-child(5),.r5 td:nth-child(6),.r6 td:nth-child(7),.r7 td:nth-child(8),
.r8 td:nth-child(9),.r9 td:nth-child(10),.r10 td:nth-child(11),.r11 td:nth-child(12),
.r12 td:nth-child(13),.r13 td:nth-child(14),.r14 td:nth-child(15),.r15 td:nth-child(16),
.r16 td:nth-child(17),.r17 td:nth-child(18),.r18 td:nth-child(19),.r19 td:nth-child(20){text-align:right;white-space:nowrap}
.why{min-width:16rem}
th button{all:unset;cursor:pointer;font-weight:600}
th button:focus-visible,a:focus-visible,summary:focus-visible,.scroll:focus-visible,
#theme:focus-visible{outline:2px solid var(--hue-1);outline-offset:1px}
th[aria-sort=ascending] button::after{content:" \25b2"}
th[aria-sort=descending] button::after{content:" \25bc"}
#theme{float:right;margin-top:1rem;font:inherit;color:inherit;background:var(--box);
border:1px solid var(--grid);border-radius:.3rem;padding:.2rem .6rem;cursor:pointer}
summary{cursor:pointer;overflow-wrap:anywhere}
details{margin:.15rem 0}
.pair,.cards{display:flex;flex-wrap:wrap;gap:1rem}
figure{margin:.5rem 0;max-width:100%}
figcaption{color:var(--muted);font-size:.9rem;max-width:34rem}
svg{max-width:100%;height:auto}
.card{background:var(--box);border:1px solid var(--grid);border-radius:.3rem;padding:.5rem;
width:13rem}
.card img{width:8rem;height:auto;image-rendering:pixelated;display:block;margin-bottom:.3rem}
.wrong{color:var(--hue-6);font-weight:600}
@media print{nav,#theme{display:none}.scroll{overflow:visible}}
)css";

constexpr std::string_view kPageScript = R"js(
"use strict";
(function () {
  function key(row, column) {
    var cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : cell.dataset.v;
  }
  function sort(table, column, header) {
    var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows);
    var ascending = header.getAttribute("aria-sort") !== "ascending";
    var isNumber = header.classList.contains("n");
    rows.forEach(function (row, i) {
      if (row.dataset.i === undefined) row.dataset.i = i;
    });
    rows.sort(function (a, b) {
      var x = key(a, column), y = key(b, column), order;
      if (isNumber) {
        x = Number(x);
        y = Number(y);
        order = x < y ? -1 : x > y ? 1 : 0;
      } else {
        order = x < y ? -1 : x > y ? 1 : 0;
      }
      return (ascending ? order : -order) || a.dataset.i - b.dataset.i;
    });
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell) {
      cell.removeAttribute("aria-sort");
    });
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    rows.forEach(function (row) { body.appendChild(row); });
  }
  Array.prototype.forEach.call(document.querySelectorAll("table.sortable"), function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (header, column) {
      header.firstElementChild.addEventListener("click", function () {
        sort(table, column, header);
      });
    });
  });
  var theme = document.getElementById("theme"), root = document.documentElement;
  function isDark() {
    var chosen = root.getAttribute("data-theme");
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function show() {
    theme.textContent = isDark() ? "Light theme" : "Dark theme";
  }
  theme.addEventListener("click", function () {
    root.setAttribute("data-theme", isDark() ? "light" : "dark");
    show();
  });
  theme.hidden = false;
  show();
})();
)js";

}  // namespace

std::string_view page_style() { return kPageStyle; }

std::string_view page_script() { return kPageScript; }

}  // namespace halftone::report::page
