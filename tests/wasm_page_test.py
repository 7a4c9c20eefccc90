#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens pages of `halftone export --target wasm` in headless Chromium: the outputs have the bits of
the runtime, a drawn digit is recognised, and a sound becomes the features of a word.

Usage: wasm_page_test.py HALFTONE FOLDER DATA

Writes pages and screenshots to the folder. Networks of the folder DATA, or HALFTONE_DATA, are left
out where they are absent. Skipped (exit code 77) without Chromium, Clang or wasm-ld.
"""

import base64
import cmath
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import wave
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


def spectrum(x):
    """The Fourier transform of a power of two of numbers."""
    if len(x) == 1:
        return x
    even, odd = spectrum(x[::2]), spectrum(x[1::2])
    turned = [each * cmath.exp(-2j * math.pi * k / len(x)) for k, each in enumerate(odd)]
    return ([a + b for a, b in zip(even, turned)] + [a - b for a, b in zip(even, turned)])


def speech_features(samples):
    """The features of MLPerf Tiny: tf.signal.stft, linear_to_mel_weight_matrix and
    mfccs_from_log_mel_spectrograms with its parameters."""
    samples = [each / max(samples) for each in samples] + [0] * (16000 - len(samples))
    edges = [1127 * math.log(1 + 20 / 700) + i / 41 * 1127 * (math.log(1 + 4000 / 700)
                                                               - math.log(1 + 20 / 700))
             for i in range(42)]
    mels = [1127 * math.log(1 + k * 8000 / 256 / 700) for k in range(257)]
    features = []
    for begin in range(0, 16000 - 480 + 1, 320):
        frame = [samples[begin + n] * (0.5 - 0.5 * math.cos(2 * math.pi * n / 480))
                 for n in range(480)]
        sizes = [abs(each) for each in spectrum(frame + [0] * 32)]
        logs = []
        for low, middle, high in zip(edges, edges[1:], edges[2:]):
            band = [max(0, min((mels[k] - low) / (middle - low), (high - mels[k]) / (high - middle)))
                    for k in range(1, 257)]
            logs.append(math.log(sum(a * b for a, b in zip(band, sizes[1:])) + 1e-6))
        features += [sum(2 * log * math.cos(math.pi * c * (2 * n + 1) / 80)
                         for n, log in enumerate(logs)) / math.sqrt(80) for c in range(10)]
    return features


def choose_file(page, path):
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])


def wait_for_answer(page):
    return page.evaluate("""new Promise((done) => { const wait = () => {
      const found = document.querySelector(".live-answer");
      if (found) done(found.textContent); else setTimeout(wait, 20); }; wait(); })""")


def test_sounds(program, folder, data, browser):
    """A word becomes features, from a file and from a microphone that beeps."""
    model = data / "models" / "kws_dscnn.tflite"
    if not model.exists():
        print(f"omitted: no {model}")
        return
    run(program, "export", model, "-o", folder / "words", "--target", "wasm")
    page = open_page(browser, folder / "words" / "index.html")
    samples = [int(9000 * math.sin(0.05 * n + 2e-5 * n * n) * math.sin(math.pi * n / 12000) ** 2
                   + 500 * math.sin(1.9 * n)) for n in range(12000)]
    with wave.open(str(folder / "word.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(struct.pack("<12000h", *samples))
    choose_file(page, folder / "word.wav")
    answered = wait_for_answer(page)
    sound = base64.b64encode((folder / "word.wav").read_bytes()).decode()
    found = page.evaluate(f"""(async () => {{
      const bytes = Uint8Array.from(atob("{sound}"), (each) => each.charCodeAt(0));
      const samples = await HalftoneSound.decode(bytes.buffer);
      return Array.from(HalftoneSound.values(HalftoneNet.inputs[0], samples)); }})()""")
    # Chromium divides samples by the largest of their sign.
    expected = speech_features([each / (32767 if each > 0 else 32768) for each in samples])
    # Both are float64 but for the last step; logs of small bands lose digits of their sums.
    assert len(found) == 490 and max(abs(a - b) for a, b in zip(found, expected)) < 1e-3
    # Silence is what it is in the features that this network was trained with.
    silence = page.evaluate("HalftoneSound.features(new Float64Array(16000))[0]")
    assert abs(silence + 123.57) < 0.01, silence

    npy(folder / "x.npy", (1, 49, 10, 1), "<f4", struct.pack("<490f", *found))
    run(program, "run", model, "--input", folder / "x.npy", "-o", folder / "out", "--float-order",
        "fixed")
    answers = struct.unpack("<12f", payload(folder / "out" / "out0.npy"))
    best = max(range(12), key=answers.__getitem__)
    assert answered == f"{best}: {100 * answers[best]:.1f} %", (answered, answers)

    page.evaluate("document.querySelector('.live-outputs').replaceChildren()")
    page.evaluate("document.querySelector('.live-listen').click()")
    print(f"a word of a file: {answered}; the beep of the microphone: {wait_for_answer(page)}")
    (folder / "words.png").write_bytes(page.screenshot())
    kinds = page.evaluate("""[[1, 16000, 1], [1, 640], [1, 49, 10, 1], [1, 28, 28, 1]].map((shape) =>
      HalftoneSound.kind({shape, size: shape.reduce((a, b) => a * b)}))""")
    assert kinds == ["samples", None, "features", None], kinds
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
        for test in (test_digits, test_live_reports, test_integers, test_sounds):
            test(program, folder, Path(os.environ.get("HALFTONE_DATA", data)), browser)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
