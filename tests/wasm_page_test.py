#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens pages of `halftone export --target wasm` in headless Chromium: the outputs have the bits of
the runtime, and a drawn digit is recognised.

Usage: wasm_page_test.py HALFTONE FOLDER DATA

Writes pages and screenshots to the folder. Networks of the folder DATA, or HALFTONE_DATA, are left
out where they are absent. Skipped (exit code 77) without Chromium, Clang or wasm-ld.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from chromium import Chromium, find
from report_page_test import npy

SKIPPED = 77
ROOT = Path(__file__).resolve().parent.parent
FLOAT = ROOT / "examples" / "mnist" / "mnist_mlp_700.onnx"
SEED = 2463534242


def run(program, *arguments):
    command = [program, *(str(each) for each in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def generated(port, count):
    """Elements of an input: the highest bits of a xorshift generator, as in the C program."""
    state, numbers = SEED, []
    for _ in range(count):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        numbers.append((state >> 24) - 256 * (state >> 31) if port["type"] == "int8"
                       else ((state >> 8) - 2 ** 23) / 2 ** 23)
    return numbers


def payload(path):
    """The elements of a NumPy file as bytes."""
    data = path.read_bytes()
    return data[10 + struct.unpack_from("<H", data, 8)[0]:]


def check_bits(program, folder, page, model, port):
    """The page computes what `halftone run` computes, bit by bit."""
    count = 1
    for extent in port["shape"]:
        count *= extent
    numbers = generated(port, count)
    kind, code = ("|i1", "b") if port["type"] == "int8" else ("<f4", "f")
    x = folder / "x.npy"
    npy(x, tuple(port["shape"]), kind, struct.pack(f"<{count}{code}", *numbers))
    run(program, "run", model, "--input", x, "-o", folder / "out", "--float-order", "fixed")
    found = page.evaluate(f"""(async () => {{
      const text = document.getElementById("halftone-wasm").textContent;
      const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
      const net = await HalftoneNet.load(bytes);
      const [y] = net.runCodes([{json.dumps(numbers)}]);
      return Array.from(new Uint8Array(y.buffer));
    }})()""")
    expected = payload(folder / "out" / "out0.npy")
    assert bytes(found) == expected, (model, bytes(found), expected)
    print(f"{model.name}: {len(expected)} bytes of output are those of the runtime")


def draw(page, strokes):
    """Moves the mouse over the pad, along lines in hundredths of its side."""
    left, top, width = page.evaluate("""(() => {
      const box = document.querySelector(".live-pad").getBoundingClientRect();
      return [box.left, box.top, box.width]; })()""")
    for stroke in strokes:
        points = [(left + x * width / 100, top + y * width / 100) for x, y in stroke]
        for kind, (x, y), buttons in [("mousePressed", points[0], 1),
                                      *(("mouseMoved", point, 1) for point in points),
                                      ("mouseReleased", points[-1], 0)]:
            page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      buttons=buttons, clickCount=1)


def open_page(browser, path, width=900):
    page = browser.page()
    page.set_size(width, 700)
    page.open(path.as_uri())
    page.evaluate("""new Promise((done) => { const wait = () =>
      document.querySelector(".live-outputs p") ? done() : setTimeout(wait, 20); wait(); })""")
    return page


def answer(page):
    return page.evaluate("document.querySelector('.live-answer').textContent")


def test_digits(program, folder, data, browser):
    model = folder / "digits.circle"
    run(program, "quantize", FLOAT, "-o", model, "--data", FLOAT.parent, "--limit", 500,
        "--weight-bits", 2, "--activation-bits", 2, "-q")
    facts = json.loads(run(program, "export", model, "-o", folder / "digits", "--target", "wasm",
                           "--json"))
    assert facts["module_bytes"] == (folder / "digits" / "net.wasm").stat().st_size
    assert facts["module_bytes"] < facts["flash"]["weights"] + 16384
    page = open_page(browser, folder / "digits" / "index.html")
    check_bits(program, folder, page, model, facts["inputs"][0])
    for digit, strokes in (("1", [[(55, 15), (50, 85)]]),
                           ("7", [[(25, 20), (75, 20), (45, 85)]]),
                           ("0", [[(50, 15), (30, 25), (22, 50), (30, 75), (50, 85), (70, 75),
                                   (78, 50), (70, 25), (50, 15)]])):
        page.evaluate("document.querySelector('.live-inputs button').click()")
        draw(page, strokes)
        assert answer(page).startswith(digit + ": "), (digit, answer(page))
        (folder / f"digit-{digit}.png").write_bytes(page.screenshot())
    assert page.problems() == [], page.problems()
    assert {Path(each).name for each in page.requests()} == {"index.html", "net.js"}
    narrow = open_page(browser, folder / "digits" / "index.html", 400)
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 400
    draw(narrow, [[(50, 15), (50, 85)]])
    (folder / "narrow.png").write_bytes(narrow.screenshot())


def test_live_reports(program, folder, data, browser):
    model, path = folder / "digits.circle", folder / "live.html"
    classes = folder / "classes.txt"
    classes.write_text("".join(f"<digit {each}>\n" for each in range(10)))
    facts = json.loads(run(program, "report", model, "-o", path, "--live", "--classes", classes,
                           "--json"))
    assert facts["live"]["module_bytes"] == (folder / "digits" / "net.wasm").stat().st_size
    for width in (1400, 480):
        page = open_page(browser, path, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate("document.getElementById('live-h').scrollIntoView()")
        draw(page, [[(25, 20), (75, 20), (45, 85)]])
        assert answer(page).startswith("<digit 7>: "), answer(page)
        (folder / f"live-{width}.png").write_bytes(page.screenshot())
        assert page.problems() == [], page.problems()
        assert page.requests() == [path.as_uri()], page.requests()
    run(program, "report", model, "-o", folder / "again.html", "--live", "--classes", classes)
    assert path.read_bytes() == (folder / "again.html").read_bytes()
    failed = subprocess.run([program, "report", model, "-o", folder / "no.html", "--live"],
                            capture_output=True, text=True, timeout=240, env={"PATH": "/nowhere"})
    assert failed.returncode == 4 and failed.stderr.count("\n") == 1, failed
    assert "install Debian's packages clang and lld" in failed.stderr
    assert not (folder / "no.html").exists()


def test_integers(program, folder, data, browser):
    for name in ("kws_dscnn_int8", "resnet8_cifar10_int8", "toycar_autoencoder_int8"):
        model = data / "models" / (name + ".tflite")
        if not model.exists():
            print(f"omitted: no {model}")
            continue
        facts = json.loads(run(program, "export", model, "-o", folder / name, "--target", "wasm",
                               "--json"))
        page = open_page(browser, folder / name / "index.html")
        check_bits(program, folder, page, model, facts["inputs"][0])
        (folder / f"{name}.png").write_bytes(page.screenshot())
        assert page.problems() == [], page.problems()


def main(program, folder, data):
    browser_program = find()
    if browser_program is None or not shutil.which("clang") or not shutil.which("wasm-ld"):
        print("skipped: no Chromium, Clang or wasm-ld (Debian: chromium clang lld)")
        return SKIPPED
    folder = Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Chromium(browser_program) as browser:
        for test in (test_digits, test_live_reports, test_integers):
            test(program, folder, Path(os.environ.get("HALFTONE_DATA", data)), browser)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
