// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <utility>

#include "halftone/report/page/heat.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"

namespace halftone::report::page {

namespace {

constexpr std::string_view kPageStyle = R"css(
:root,:root[data-theme=light]{color-scheme:light;--paper:#fff;--box:#f6f8fa;--text:#1f2328;--muted:#59636e;--grid:#d1d9e0;
--bar:#d3e4f8;--good:#1a7f37;--fair:#8a5d00;--bad:#c3232d;
--c0:#4a90c2;--c1:#6cb8a4;--c2:#b5c556;--c3:#efb73e;--c4:#e67e33;--c5:#c5332d;
--hue-1:#0969da;--hue-2:#bc4c00;--hue-3:#1a7f37;--hue-4:#8250df;--hue-5:#9a6700;--hue-6:#bf3989}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;--paper:#0d1117;--box:#151b23;--text:#e6edf3;--muted:#9198a1;--grid:#3d444d;
--bar:#1f3a5f;--good:#3fb950;--fair:#d29922;--bad:#ff7b72;
--c0:#4a90c2;--c1:#5fae9a;--c2:#a9b94d;--c3:#e0a832;--c4:#e07c34;--c5:#e0514a;
--hue-1:#4493f8;--hue-2:#f0883e;--hue-3:#3fb950;--hue-4:#ab7df8;--hue-5:#d29922;--hue-6:#db61a2}}
:root[data-theme=dark]{color-scheme:dark;--paper:#0d1117;--box:#151b23;--text:#e6edf3;--muted:#9198a1;--grid:#3d444d;
--bar:#1f3a5f;--good:#3fb950;--fair:#d29922;--bad:#ff7b72;
--c0:#4a90c2;--c1:#5fae9a;--c2:#a9b94d;--c3:#e0a832;--c4:#e07c34;--c5:#e0514a;
--hue-1:#4493f8;--hue-2:#f0883e;--hue-3:#3fb950;--hue-4:#ab7df8;--hue-5:#d29922;--hue-6:#db61a2}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0 auto;max-width:88rem;padding:0 1.25rem 3rem;background:var(--paper);color:var(--text);
font:15px/1.45 system-ui,sans-serif}
a{color:var(--hue-1)}
h1{font-size:1.35rem;margin:.8rem 0 .1rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.2rem 0 .5rem;border-bottom:1px solid var(--grid)}
#summary-h{position:absolute;left:-99rem}
h3{font-size:1rem;margin:0 0 .2rem;overflow-wrap:anywhere}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:0;background:var(--box);padding:.5rem}
nav ul{display:flex;flex-wrap:wrap;gap:.1rem 1rem;list-style:none;margin:.2rem 0 .6rem;padding:0;font-size:14px}
.note{color:var(--muted);max-width:60rem}
.note.wide{max-width:none;font-size:14px;margin:.3rem 0}
ul.missing{padding-left:1.2rem;margin:.8rem 0}
.figures,.causes{display:grid;grid-template-columns:repeat(3,1fr);gap:.8rem}
.figure,.causes .card{background:var(--box);border:1px solid var(--grid);border-radius:.6rem;padding:.7rem 1rem;width:auto;min-width:0}
.figure p{margin:0}
.figure strong{font-size:2.5rem;line-height:1.1;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.good strong{color:var(--good)}.fair strong{color:var(--fair)}.bad strong{color:var(--bad)}
header .detail{margin:0}
.detail{color:var(--muted);font-size:14px}
.verdict{overflow-wrap:anywhere;font-size:1.1rem;max-width:80rem;margin:.8rem 0 .4rem}
code{font-size:13px;background:var(--box);border:1px solid var(--grid);border-radius:.3rem;padding:.1rem .35rem;overflow-wrap:anywhere}
.help{margin:.2rem 0 .6rem}
pre{background:var(--box);border:1px solid var(--grid);border-radius:.3rem;padding:.5rem .8rem;margin:.3rem 0;font-size:13px;overflow-x:auto}
.causes p{margin:.15rem 0;font-size:14px}
figure.strip{margin:.8rem 0}
svg.strip{width:100%;height:84px;display:block}
svg.strip .bar{fill:var(--c0)}
svg.strip a:hover path,svg a:focus path{stroke:var(--text);stroke-width:2}
.legend{white-space:nowrap}
i[class^=c]{display:inline-block;width:.8em;height:.8em;border-radius:.15em;background:var(--c)}
.scroll{overflow-x:auto}
.scroll:has(>.sortable){max-height:44rem;overflow:auto;
background:linear-gradient(var(--paper),var(--paper)) bottom/100% 1.5rem no-repeat local,
linear-gradient(transparent,var(--grid)) bottom/100% 1rem no-repeat}
.sortable thead{position:sticky;top:0;z-index:1}
.sortable tr{scroll-margin-top:3.5rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}
caption{text-align:left;color:var(--muted);padding:.25rem 0}
th,td{padding:.15rem .5rem;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}
th[scope=row]{font-weight:400;max-width:26rem;overflow-wrap:anywhere}
.sortable th[scope=row]{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.sortable td{white-space:nowrap}
.sortable td:not(:has(details[open])){max-width:24rem;overflow:hidden;text-overflow:ellipsis}
.sortable td[style]{background:linear-gradient(to left,var(--bar) var(--w),transparent 0) center/100% 76% no-repeat}
tr[class^=c] th::before{content:"";display:inline-block;width:.7em;height:.7em;border-radius:.15em;background:var(--c);margin-right:.45em}
tr:target th,tr:target td{background-color:color-mix(in srgb,var(--hue-1) 14%,var(--paper))}
thead th{background:var(--box);vertical-align:bottom}
.facts td{max-width:30rem;overflow-wrap:anywhere}
.matrix td{text-align:right;background:color-mix(in srgb,var(--c5) min(55%,calc(var(--a,0%)*1.2)),var(--paper))}
.matrix td.right{background:color-mix(in srgb,var(--c0) calc(var(--a,0%)*.6),var(--paper))}
.types td[class]{background:color-mix(in srgb,var(--c) 30%,var(--paper))}
.n{text-align:right}
.slow{color:var(--bad);font-weight:600}
.why details[open]{white-space:normal;min-width:16rem;max-width:30rem}
th button{all:unset;cursor:pointer;font-weight:600}
th button::after{content:"\a0\21c5";color:var(--muted);font-weight:400;font-size:.8em}
th button:focus-visible,a:focus-visible,summary:focus-visible,.scroll:focus-visible,
#theme:focus-visible{outline:2px solid var(--hue-1);outline-offset:1px}
th[aria-sort=ascending] button::after{content:"\a0\25b2";color:inherit}
th[aria-sort=descending] button::after{content:"\a0\25bc";color:inherit}
#theme{float:right;margin-top:.6rem;font:inherit;color:inherit;background:var(--box);
border:1px solid var(--grid);border-radius:.3rem;padding:.2rem .6rem;cursor:pointer}
summary{cursor:pointer;overflow-wrap:anywhere}
details{margin:.15rem 0}
td details{margin:0}
.pair,.cards{display:flex;flex-wrap:wrap;gap:.4rem 1rem}
.worst{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,40rem),1fr));gap:.2rem 1rem}
.worst .pair{flex-wrap:nowrap}
.worst figure{flex:1 1 0;min-width:0}
.others{columns:24rem;margin:.6rem 0}
.others details{break-inside:avoid}
figure{margin:.3rem 0;max-width:100%}
figcaption{color:var(--muted);font-size:.9rem}
.pair figcaption{max-width:34rem}
svg{max-width:100%;height:auto}
.card{background:var(--box);border:1px solid var(--grid);border-radius:.3rem;padding:.5rem;
width:11rem;overflow-wrap:anywhere}
.card img{width:8rem;height:auto;image-rendering:pixelated;display:block;margin-bottom:.3rem}
.samples{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.3rem,1fr));gap:.6rem}
.samples .card{width:auto;font-size:14px}
.samples .card img{width:100%;max-width:9rem}
.wrong{color:var(--bad);font-weight:600}
.switch{border:0;padding:0;margin:.4rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;align-items:center}
.switch legend{float:left;margin-right:1rem}
.blocks{display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;margin:.3rem 0}
.blocks details[open]{flex:0 0 100%;order:-1;border-left:3px solid var(--hue-4);padding-left:.6rem;min-width:0}
.blocks p{flex:0 0 100%}
@media(max-width:44rem){
.figures,.causes{grid-template-columns:1fr;gap:.5rem}
.figure strong{font-size:2rem}
.scroll:has(>.sortable){max-height:80vh}
.sortable,.sortable tbody,.sortable caption,.sortable thead{display:block}
.sortable thead{position:static}
.sortable thead tr{display:flex;flex-wrap:wrap}
.sortable thead th{border:0}
.sortable tbody tr{display:flex;flex-wrap:wrap;gap:0 .9rem;padding:.35rem 0;border-bottom:1px solid var(--grid)}
.sortable tbody th,.sortable tbody td{border:0;padding:0;text-align:left!important}
.sortable tbody th[scope=row]{flex:0 0 100%;max-width:none;font-weight:600;white-space:normal}
.sortable tbody td{white-space:normal;max-width:100%!important;background:none!important}
.sortable td::before{color:var(--muted)}
.worst .pair{flex-wrap:wrap}
.worst figure{flex:0 1 auto}
.legend{white-space:normal}
.matrix{font-size:11px}
.types{font-size:10px}
.matrix th,.matrix td,.types th,.types td{padding:.1rem .2rem}
.matrix th[scope=row]{overflow-wrap:normal}
.matrix thead th:not(:first-child){writing-mode:vertical-rl;transform:rotate(180deg)}
}
@media print{
:root,:root:not([data-theme=light]),:root[data-theme=dark]{color-scheme:light;--paper:#fff;--box:#f6f8fa;--text:#1f2328;--muted:#59636e;--grid:#d1d9e0;--bar:#d3e4f8}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{font-size:12px;max-width:none;padding:0}
table{font-size:10.5px}
th,td{padding:.1rem .25rem}
nav,#theme,.switch,.skip{display:none}
.scroll,.scroll:has(>.sortable){overflow:visible;max-height:none;background:none}
.sortable thead{position:static}
tr,figure,.card,.figure{break-inside:avoid}
h2,h3{break-after:avoid}
thead{display:table-header-group}
details:not([open]):not(.help){display:none}
th button::after{content:""!important}
}
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
  function reveal(element) {
    for (var at = element; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
    }
    element.scrollIntoView({block: "nearest"});
  }
  function target(link) {
    return document.getElementById(link.getAttribute("href").slice(1));
  }
  document.addEventListener("click", function (event) {
    var link = event.target.closest("a[href^='#']"), found = link && target(link);
    if (!found) return;
    if (found.tagName === "DETAILS") {
      event.preventDefault();
      found.open = !found.open;
      if (found.open) found.scrollIntoView({block: "nearest"});
    } else if (found.closest("details")) {
      reveal(found);
    }
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

std::string page_style() {
  std::string style(kPageStyle);
  for (std::size_t c = 1; c < kMaxTableColumns; ++c) {
    style += fmt::format(".r{} td:nth-child({}){{text-align:right}}\n", c, c + 1);
  }
  style += "@media(max-width:44rem){\n";
  for (std::size_t c = 1; c < kMaxTableColumns; ++c) {
    style +=
        fmt::format(".sortable td:nth-child({})::before{{content:var(--l{}) ' '}}\n", c + 1, c);
  }
  style += "}\n";
  for (int step = 0; step < kNumHeats; ++step) {
    style += fmt::format(".c{0}{{--c:var(--c{0})}}\nsvg .c{0}{{fill:var(--c{0})}}\n", step);
    for (const auto& [name, letter] : {std::pair("error", 'e'), {"size", 's'}, {"time", 't'}}) {
      style += fmt::format(
          "section:has(#by-{}:checked) svg.net .{}{}{{fill:color-mix(in srgb,var(--c{}) 45%,"
          "var(--box))}}\n",
          name, letter, step, step);
    }
  }
  return style;
}

std::string_view page_script() { return kPageScript; }

}  // namespace halftone::report::page
