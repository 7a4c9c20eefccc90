#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far quantized language models are from the float model.

Usage: language_quality.py PROGRAM MODEL CALIBRATION TEXT [TEXT ...] [options]

Fits MODEL, a GGUF file or a folder of Hugging Face, once for each row and seed, measures every file
on the texts, and prints a table: bits or bytes, mean divergence, its standard error over tokens and
its spread over the fits, perplexity, same most probable token. A seed chooses rotations and the
part of CALIBRATION that is used: fit S leaves out the first S twentieths.

Options:
  --row ROW      TYPE, TYPE:decoded or SIZE; e.g. 4x8, Q2_K:decoded, 60MB, gguf:80MB. Types are those
                 of the matrices in blocks, and the table stays as it is; sizes are those of whole
                 files. Repeatable
  --file FILE    measures a file that is there, of any program. Repeatable
  --seeds N      fits of each row (3)
  --samples N    samples of 512 tokens to fit (32); a quarter as many are held out
  --windows N    windows of 512 tokens of each text (8), of which the second halves count
  --jobs N       fits at a time (1)
  --threads N    of each fit (0: all)
  --folder DIR   keeps the files; a row whose results are there is not fitted again
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

SHARE_LEFT_OUT = 20  # of the calibration text: one of so many parts for each seed


def is_size(row: str) -> bool:
    return re.fullmatch(r"(gguf:)?[0-9.]+[kMG]?B", row) is not None


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: pathlib.Path):
        self.arguments = arguments
        self.folder = folder

    def run(self, *command: object) -> dict:
        has_threads = self.arguments.threads > 0 and command[0] != "inspect"
        more = ["--threads", self.arguments.threads] if has_threads else []
        done = subprocess.run([self.arguments.program.resolve(), *map(str, [*command, *more]), "--json",
                               "--quiet"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)

    def calibration(self, seed: int) -> pathlib.Path:
        path = self.folder / f"calibration{seed}.txt"
        text = self.arguments.calibration.read_text()
        path.write_text(text[len(text) * seed // SHARE_LEFT_OUT:])
        return path

    def fit(self, row: str, seed: int, output: pathlib.Path) -> dict:
        size = row.removeprefix("gguf:")
        kind, _, form = row.partition(":")
        how = ["--size", size] if is_size(row) else ["--type", kind, "--table-type", "keep"]
        if form == "decoded":
            how.append("--decoded")
        samples = self.arguments.samples
        return self.run("quantize", self.arguments.model, "-o", output, "--text",
                        self.calibration(seed), "--seed", seed, "--samples", samples,
                        "--held-out", max(1, samples // 4), *how)

    def measure(self, row: str, seed: int) -> dict:
        name = re.sub(r"\W", "_", row) + f"-{seed}"
        results = self.folder / f"{name}.json"
        if results.exists():
            return json.loads(results.read_text())
        needs_gguf = row.startswith("gguf:") or (self.arguments.model.suffix == ".gguf" and
                                                 row[0] in "QIT")
        output = self.folder / (name + (".gguf" if needs_gguf else ".safetensors"))
        report = self.fit(row, seed, output)
        result = {"bits": report["weight_bits"], "bytes": report["output_bytes"],
                  "predicted": report["predicted_loss"], "seconds": report["seconds"],
                  "texts": self.compare(output)}
        results.write_text(json.dumps(result))
        if not self.arguments.folder:
            output.unlink()
        print(f"{name}: {result['texts'][0]['reference']['kl_divergence']['value']:.4g}",
              flush=True)
        return result

    def compare(self, file: pathlib.Path) -> list[dict]:
        texts = [each for text in self.arguments.text for each in ("--text", text)]
        found = self.run("eval", file, "--reference", self.arguments.model, *texts, "--context",
                         512, "--windows", self.arguments.windows, "--second-half")
        return found.get("texts", [found])

    def measure_file(self, file: pathlib.Path) -> dict:
        facts = self.run("inspect", file)
        return {"bits": facts["bits_per_weight"], "bytes": file.stat().st_size, "predicted": None,
                "texts": self.compare(file)}


def print_rows(rows: dict[str, list[dict]], texts: list[pathlib.Path]) -> None:
    print("\n| what | bits | MB | text | KL | +- tokens | spread of fits | perplexity | same token "
          "| predicted |\n" + "|---" * 10 + "|")
    for row, fits in rows.items():
        for i, text in enumerate(texts):
            each = [fit["texts"][i] for fit in fits]
            divergences = [e["reference"]["kl_divergence"]["value"] for e in each]
            error = statistics.mean(e["reference"]["kl_divergence"]["standard_error"]
                                    for e in each)
            spread = statistics.stdev(divergences) if len(fits) > 1 else 0
            perplexity = statistics.mean(e["value"] for e in each)
            same = statistics.mean(e["reference"]["same_top"]["value"] for e in each)
            predicted = fits[0]["predicted"]
            print(f"| {row} | {fits[0]['bits']:.3f} | {fits[0]['bytes'] / 1e6:.1f} | {text.stem} "
                  f"| {statistics.mean(divergences):.4g} | {error:.2g} | {spread:.2g} "
                  f"| {perplexity:.2f} (float {each[0]['reference']['value']:.2f}) "
                  f"| {100 * same:.1f} % | {f'{predicted:.3f}' if predicted else '-'} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("calibration", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path, nargs="+")
    parser.add_argument("--row", action="append", default=[])
    parser.add_argument("--file", type=pathlib.Path, action="append", default=[])
    for option, default in {"seeds": 3, "samples": 32, "windows": 8, "jobs": 1,
                            "threads": 0}.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(arguments, folder)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            futures = {row: [pool.submit(bench.measure, row, seed)
                             for seed in range(arguments.seeds)]
                       for row in arguments.row}
            futures |= {file.name: [pool.submit(bench.measure_file, file)]
                        for file in arguments.file}
            rows = {row: [each.result() for each in fits] for row, fits in futures.items()}
    print_rows(rows, arguments.text)


if __name__ == "__main__":
    main()
