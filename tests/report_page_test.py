#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens pages of `halftone report` in headless Chromium and reads them back.

Usage: report_page_test.py HALFTONE FOLDER DATA

Writes pages and screenshots to the folder. One test needs a network and samples in the folder DATA,
or HALFTONE_DATA, and says that it is omitted if they are absent. The whole is skipped (exit code 77) without Chromium; the environment
variable HALFTONE_CHROMIUM may name another browser with its protocol.
"""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import many_layers
from chromium import Chromium, find

SKIPPED = 77
ROOT = Path(__file__).resolve().parent.parent
MNIST = ROOT / "examples" / "mnist"
FLOAT = MNIST / "mnist_mlp_700.onnx"
DATA = ["--data", MNIST, "--limit", "500"]
WIDTHS = (1400, 480)
MARKUP = "<img src=x onerror=alert(1)>\"'&</script>"

# Texts and their backgrounds: the smallest contrast by WCAG 2, and where it is.
CONTRAST = """(() => {
  const light = (color) => {
    const most = color.startsWith("color(") ? 1 : 255;  // color(srgb 1 0.5 0), rgb(255, 128, 0)
    const part = color.match(/[\\d.]+/g).slice(0, 3).map((c) => c / most)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!color.endsWith(", 0)") && color !== "transparent") return color;
    }
    return "rgb(255, 255, 255)";
  };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("h1,h2,p,th,td,a,button,figcaption,text")) {
    const style = getComputedStyle(element);
    const text = light(element.tagName === "text" ? style.fill : style.color);
    const below = light(ground(element));
    const ratio = (Math.max(text, below) + 0.05) / (Math.min(text, below) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 200)];
  }
  return worst;
})()"""


def npy(path, extents, kind, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {extents}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


class Pages:
    """Makes pages with the program, and opens them."""

    def __init__(self, program, folder, data, browser):
        self.program = program
        self.folder = folder
        self.data = data
        self.browser = browser
        self.model = folder / "mnist.circle"
        self.run("quantize", FLOAT, *DATA, "--weight-bits", 2, "--activation-bits", 2, "-q",
                 "-o", self.model)

    def run(self, *arguments):
        command = [self.program, *(str(each) for each in arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def write(self, name, *arguments):
        """The path of a page about a network."""
        path = self.folder / name
        self.run("report", *arguments, "-o", path)
        return path

    def open(self, path, width=WIDTHS[0]):
        page = self.browser.page()
        page.set_size(width, 900)
        page.open(path.as_uri())
        return page

    def network(self, num_layers):
        """The path of a float network."""
        path = self.folder / f"{num_layers}.onnx"
        path.write_bytes(many_layers.network(num_layers))
        return path

    def samples(self):
        """The paths of 32 samples and labels for such a network."""
        values = random.Random(2)
        x, y = self.folder / "x.npy", self.folder / "y.npy"
        size = 3 * many_layers.SIZE ** 2
        pixels = [values.gauss(0, 1) for _ in range(32 * size)]
        npy(x, (32, 3, many_layers.SIZE, many_layers.SIZE), "<f4", struct.pack(f"<{32 * size}f", *pixels))
        npy(y, (32,), "<i8", struct.pack("<32q", *(i % many_layers.CLASSES for i in range(32))))
        return f"{x},{y}"

    def example(self):
        """The path of a page with every section that has the same bytes every time."""
        return self.write("mnist.html", self.model, "--reference", FLOAT, *DATA, *self.side_files())

    def side_files(self):
        """Options for results of other verbs."""
        front = [{"bytes": 60_000 + 9_000 * i, "loss": 2.0 / (1 + i), "us": 5 + i} for i in range(9)]
        epochs = [{"loss": 2.5 / e, "agreement": 1 - 0.5 / e, "validation_accuracy": 1 - 0.6 / e,
                   "seconds": 1} for e in range(1, 9)]
        contents = {
            "search": {"front": front, "chosen": front[3]},
            "training": {"epochs": epochs},
            "sensitivity": {
                "loss": "kl", "layers": [{"name": "dense1"}, {"name": "dense2"}],
                "units": [{"layers": [0]}, {"layers": [1]}],
                "choices": [{"name": f"w{bits}", "units": [{"loss": 1 / bits, "bytes": 9 * bits},
                                                           {"loss": 2 / bits, "bytes": bits}]}
                            for bits in (1, 2, 3, 4)]},
        }
        options = []
        for name, content in contents.items():
            path = self.folder / f"{name}.json"
            path.write_text(json.dumps(content))
            options += ["--" + name, path]
        return options


def embedded(page):
    """The JSON inside a page."""
    return json.loads(page.evaluate("document.getElementById('halftone-report').textContent"))


def expect_quiet(page, path):
    """Nothing in the console, and no request but for the page itself."""
    assert page.problems() == [], page.problems()
    assert set(page.requests()) == {path.as_uri()}, page.requests()


def table_cells(page, section):
    """The rows of the first table of a section: texts, and values that sort them."""
    return page.evaluate(f"""[...document.getElementById('{section}-h').parentElement
      .querySelector('table').tBodies[0].rows].map((row) => [...row.cells].map((cell) =>
        [cell.textContent, cell.dataset.v === undefined ? null : Number(cell.dataset.v)]))""")


def test_no_console_message_no_request(pages):
    path = pages.example()
    for width in WIDTHS:
        for is_dark in (False, True):
            page = pages.browser.page()
            page.set_dark(is_dark)
            page.set_size(width, 900)
            page.open(path.as_uri())
            expect_quiet(page, path)
            scroll_width = page.evaluate("document.documentElement.scrollWidth")
            assert scroll_width <= width, f"{scroll_width} pixels in a window of {width}"
            picture = page.screenshot()
            name = f"mnist-{width}-{'dark' if is_dark else 'light'}.png"
            (pages.folder / name).write_bytes(picture)
            assert struct.unpack(">II", picture[16:24]) == (width, 900)
            assert len(picture) > 10_000, "the picture is nearly blank"


def test_a_message_would_be_seen(pages):
    """The check above finds what it looks for."""
    path = pages.folder / "noisy.html"
    path.write_text("<!DOCTYPE html><title>t</title><script>console.log('a'); b();</script>"
                    "<img src='absent.png' alt=''>")
    page = pages.open(path)
    assert len(page.problems()) >= 2, page.problems()
    assert len(page.requests()) >= 2, page.requests()


def test_the_page_has_the_numbers_of_its_json(pages):
    page = pages.open(pages.example())
    model = embedded(page)["model"]
    rows = table_cells(page, "layers")
    assert len(rows) == len(model["layers"]) == 2
    for row, layer in zip(rows, model["layers"]):
        texts = [text for text, _ in row]
        values = [value for _, value in row]
        assert texts[0] == layer.get("reference_name", layer["name"]), texts
        assert str(layer["weight_bits"]) in texts, texts
        assert layer["kernel"] in texts, texts
        assert layer["weight_bytes"] in values, values
        for key in ("sqnr_db", "sqnr_alone_db", "weight_sqnr_db"):
            assert any(value is not None and abs(value - layer[key]) < 1e-6 * abs(layer[key])
                       for value in values), (key, layer[key], values)


def test_numbers_are_those_of_other_verbs(pages):
    model = embedded(pages.open(pages.example()))["model"]
    evaluation = json.loads(pages.run("eval", pages.model, "--reference", FLOAT, *DATA, "--json"))
    for key, value in model["evaluation"].items():
        if key != "reference":
            assert evaluation[key] == value, (key, value, evaluation)
    for key, value in model["evaluation"]["reference"].items():
        assert evaluation["reference"][key] == value, (key, value, evaluation)
    inspection = json.loads(pages.run("inspect", pages.model, "--json"))
    assert model["parameters"] == inspection["parameters"]
    assert [layer["weight_bytes"] for layer in model["layers"]] == [
        layer["weight_bytes"] for layer in inspection["layers"]]


def test_the_page_is_the_same_every_time(pages):
    first = pages.example().read_bytes()
    again = pages.write("again.html", pages.model, "--reference", FLOAT, *DATA, "--threads", 1,
                        *pages.side_files())
    assert first == again.read_bytes()


def test_buttons_sort_the_table(pages):
    page = pages.open(pages.example())
    header = "document.querySelector('table.sortable')"
    column = page.evaluate(f"""[...{header}.tHead.rows[0].cells]
      .findIndex((cell) => cell.textContent === 'bytes')""")
    cell = f"{header}.tHead.rows[0].cells[{column}]"
    values = f"[...{header}.tBodies[0].rows].map((row) => Number(row.cells[{column}].dataset.v))"
    before = page.evaluate(values)
    page.evaluate(f"{cell}.querySelector('button').focus()")
    page.press("Enter", text="\r")
    assert page.evaluate(f"{cell}.getAttribute('aria-sort')") == "ascending"
    assert page.evaluate(values) == sorted(before)
    page.press(" ", "Space", " ")
    assert page.evaluate(f"{cell}.getAttribute('aria-sort')") == "descending"
    assert page.evaluate(values) == sorted(before, reverse=True)
    assert page.problems() == []


def test_the_keyboard_reaches_everything(pages):
    page = pages.open(pages.write("float.html", pages.network(11)), min(WIDTHS))
    page.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.press("Enter", text="\r")
    assert page.evaluate("document.activeElement.id") == "main"
    page.evaluate("document.querySelector('details.block > summary').focus()")
    before = page.evaluate("document.querySelector('details.block').open")
    page.press("Enter", text="\r")
    assert page.evaluate("document.querySelector('details.block').open") != before
    # What scrolls takes the focus.
    assert page.evaluate("""[...document.querySelectorAll('.scroll')].every((each) =>
      each.scrollWidth <= each.clientWidth || each.tabIndex === 0)""")


def test_themes_have_contrast(pages):
    path = pages.example()
    page = pages.browser.page()
    grounds = []
    for is_dark in (False, True):
        page.set_dark(is_dark)
        page.open(path.as_uri())
        for _ in range(2):  # as the system has it, then the other by the button
            ratio, element = page.evaluate(CONTRAST)
            assert ratio >= 4.5, (ratio, element)
            grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            page.evaluate("document.getElementById('theme').click()")
    assert grounds[0] == grounds[3] != grounds[1] == grounds[2], grounds


def test_the_document_is_well_built(pages):
    page = pages.open(pages.example())
    for selector in ("svg[role=img]:not([aria-label])", "svg:not([role])", "img:not([alt])",
                     "table:not(:has(caption))", "th:not([scope])", "h1 ~ h1", "[src^=http]",
                     "link", "a[href]:not([href^='#'])"):
        assert page.count(selector) == 0, selector
    for selector in ("h1", "main", "nav", "header", "meta[name=viewport]", "html[lang]"):
        assert page.count(selector) == 1, selector
    sections = page.evaluate("[...document.querySelectorAll('h2')].map((each) => each.id)")
    for section in ("summary", "layers", "beside", "classes", "networks", "values", "graph", "samples",
                    "sensitivities", "searches", "trainings"):
        assert section + "-h" in sections, (section, sections)
    assert page.evaluate("""(() => { const ids = [...document.querySelectorAll('[id]')]
      .map((each) => each.id); return ids.length === new Set(ids).size; })()""")
    assert page.evaluate("""[...document.querySelectorAll('a[href]')].every((each) =>
      document.getElementById(each.getAttribute('href').slice(1)))""")


def test_blocks_fold_and_links_arrive(pages):
    page = pages.open(pages.write("folds.html", pages.network(30)))
    opened = "document.querySelectorAll('details.block[open]').length"
    assert page.evaluate(opened) == 0
    box = "document.querySelector('.graph > .scroll a[href^=\\'#b\\']')"
    click = f"{box}.dispatchEvent(new MouseEvent('click', {{bubbles: true, cancelable: true}}))"
    page.evaluate(click)
    assert page.evaluate(opened) == 1
    page.evaluate(click)
    assert page.evaluate(opened) == 0
    # A link of the table opens the blocks around its box.
    page.evaluate("document.querySelector('#l1 a').click()")
    assert page.evaluate("document.getElementById('g1').closest('details').open")
    assert page.problems() == []


def test_colours_switch_without_scripts(pages):
    path = pages.example()
    page = pages.browser.page()
    page.set_scripts(False)
    page.open(path.as_uri())
    rule = "section:has(#by-size:checked) svg.net .s5"
    assert rule in path.read_text(encoding="utf-8")
    assert page.count("svg.net [class*=' s5']") > 0
    assert page.count("#by-error[checked]") == 1


def test_narrow_windows_and_paper_cut_nothing(pages):
    page = pages.open(pages.example(), 480)
    assert page.evaluate("document.documentElement.scrollWidth") <= 480
    assert page.evaluate("""[...document.querySelectorAll('.sortable td')].every((cell) =>
      cell.getBoundingClientRect().right <= 480)""")


def test_tables_and_pictures_need_no_scripts(pages):
    path = pages.example()
    with_scripts = pages.open(path)
    page = pages.browser.page()
    page.set_scripts(False)
    page.open(path.as_uri())
    for selector in ("tr", "svg", "details", "img"):
        assert page.count(selector) == with_scripts.count(selector) > 0, selector
    assert page.count("#theme[hidden]") == 1
    assert page.problems() == []


def test_markup_in_names_is_text(pages):
    network = pages.folder / 'a<b>&"\'.onnx'
    network.write_bytes(many_layers.network(20, MARKUP + "{stage}/{block}"))
    path = pages.write("markup.html", network)
    page = pages.open(path)
    expect_quiet(page, path)
    assert page.count("[src=x]") == 0 and page.count("script") == 2
    names = [row[0][0] for row in table_cells(page, "layers")]
    assert any(name.startswith(MARKUP) for name in names), names
    assert page.evaluate("document.querySelector('h1').textContent") == network.name
    assert embedded(page)["model"]["name"] == network.name


def test_five_hundred_layers_open_at_once(pages):
    network = pages.network(500)
    model = pages.folder / "500.circle"
    pages.run("quantize", network, "--data", pages.samples(), "--weight-bits", 2,
              "--activation-bits", 2, "-q", "-o", model)
    path = pages.write("500.html", model, "--reference", network, "--data", pages.samples(), "--time")
    size = path.stat().st_size
    print(f"500 layers: {size} bytes", end=", ")
    assert size <= 2_000_000, size
    page = pages.browser.page()
    page.set_size(WIDTHS[0], 900)
    seconds = min(page.open(path.as_uri()) for _ in range(5))
    print(f"open in {seconds:.2f} s")
    assert seconds <= 2, seconds  # one second on a processor of today; machines for tests are slower
    expect_quiet(page, path)
    assert len(table_cells(page, "layers")) == 500


def test_a_published_network_has_a_small_page(pages):
    network = pages.data / "models" / "resnet20_cifar10.onnx"
    samples = pages.data / "cifar10" / "lossless_test_761.bin"
    if not network.exists() or not samples.exists():
        print(f"omitted: no {network} or no {samples}")
        return
    model = pages.folder / "resnet20.circle"
    pages.run("quantize", network, "--data", samples, "--limit", 100, "-q", "-o", model)
    path = pages.write("resnet20.html", model, "--reference", network, "--data", samples, "--time",
                       "--limit", 200)
    size = path.stat().st_size
    print(f"ResNet-20: {size} bytes")
    assert size <= 300_000, size
    page = pages.open(path)
    expect_quiet(page, path)
    assert page.count("#samples-h ~ * img") == 8
    assert page.count("details.block") >= 3


def tests():
    return [value for name, value in globals().items() if name.startswith("test_")]


def main(program, folder, data):
    browser_program = find()
    if browser_program is None:
        print("skipped: no Chromium (Debian: chromium)")
        return SKIPPED
    folder = Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Chromium(browser_program) as browser:
        pages = Pages(program, folder, Path(os.environ.get("HALFTONE_DATA", data)), browser)
        for test in tests():
            print(test.__name__[5:].replace("_", " "), flush=True)
            test(pages)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
