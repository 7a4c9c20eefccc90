#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What page_commands.py accepts and what it reports."""
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import page_figures

SCRIPT = Path(__file__).resolve().parent / "page_commands.py"


def block(head, text):
    return f"```{head}\n{text}\n```\n\n"


class PageCommands(unittest.TestCase):
    def run_page(self, *blocks):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.md")
            page.write_text("# Page\n\n" + "".join(blocks), encoding="utf-8")
            done = subprocess.run([sys.executable, SCRIPT, page, folder], check=False,
                                  stdout=subprocess.PIPE, encoding="utf-8")
        return done.returncode, done.stdout

    def expect(self, code, message, *blocks):
        found, output = self.run_page(*blocks)
        self.assertEqual(code, found, output)
        self.assertIn(message, output)

    def test_runs_blocks_in_order_in_a_copy_of_the_repository(self):
        self.expect(0, "3 blocks ran", block("sh", "test -f examples/mnist/SHA256SUMS; echo a > build/a"),
                    block("python", "x = open('build/a').read()"),
                    block("python", "assert x == 'a\\n'"), "    not a block\n")

    def test_compares_shown_output_with_gaps_and_blanks(self):
        shell = block("sh", "echo 'a   b 1.5 s'; echo; echo c")
        self.expect(0, "1 blocks ran", shell, block("text", "a b ... s\n\nc"))
        self.expect(0, "1 blocks ran", shell, block("text", "a ..."))
        self.expect(1, "page.md:7: this is not the output", shell, block("text", "a b ... s"))
        self.expect(1, "this is not the output", shell, block("text", "... b 1.6 ..."))

    def test_output_belongs_to_the_block_before_only(self):
        self.expect(0, "1 blocks ran", block("sh", "echo a"), block("text", "a"),
                    block("text", "an explanation"))

    def test_compares_tables_and_orders_of_magnitude(self):
        shell = block("sh", "echo 'a heading'; echo '| 3 |  20.5 |'")
        table = "| k | us |\n|---|---|\n| **3** | {} |\n\n"
        self.expect(0, "1 blocks ran", shell, table.format("20.5"))
        self.expect(0, "1 blocks ran", shell, table.format("~60.1"))
        self.expect(1, "page.md:3: the table below has not the rows", shell, table.format("20.4"))
        self.expect(1, "the table below has not the rows", shell, table.format("~1,000"))
        percent = block("sh", "echo '| 3 | 90.12 % |'")
        self.expect(0, "1 blocks ran", percent, table.format("~92.02 %"))
        self.expect(1, "the table below has not the rows", percent, table.format("~92.22 %"))
        self.expect(0, "1 blocks ran", shell, "Other rows:\n\n", table.format("1"))

    def test_runs_long_blocks_only_if_asked(self):
        pages = [block("sh", "true"), block("sh minutes", "echo b"), block("text", "b"),
                 block("sh hours", "false"), "| a |\n|---|\n\n"]
        self.expect(0, "1 blocks ran", *pages)
        self.expect(77, "this takes minutes and did not run", *pages[1:])
        with unittest.mock.patch.dict(os.environ, {"HALFTONE_FIGURES": "minutes"}):
            self.expect(0, "2 blocks ran", *pages)
        with unittest.mock.patch.dict(os.environ, {"HALFTONE_FIGURES": "hours"}):
            self.expect(1, "the commands fail", *pages)

    def test_reports_commands_that_fail(self):
        self.expect(1, "page.md:3: the commands fail with exit code 1", block("sh", "false; true"))
        self.expect(1, "fail", block("sh", "false | true"))

    def test_writes_files_but_none_of_the_repository(self):
        self.expect(0, "1 blocks ran", block("toml build/new/a.toml", "x = 1"),
                    block("sh", "grep -q 'x = 1' build/new/a.toml"))
        self.expect(1, "examples/a.toml is a file of the repository",
                    block("toml examples/a.toml", "x = 1"))

    def test_ends_where_something_is_absent(self):
        absent = block("sh no-such-program", "false")
        self.expect(77, "as no-such-program is absent", absent)
        self.expect(0, "1 blocks ran", block("sh", "true"), absent, block("sh", "false"))
        self.expect(0, "2 blocks ran", block("sh bash", "true"), block("python json", "pass"))

    def test_finds_figures_in_the_text_that_no_command_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            page, other = Path(folder, "page.md"), Path(folder, "other.md")
            other.write_text(block("sh", "x") + "| 3 | 90.12 % | ~5.5 us |\n", encoding="utf-8")
            for text, found in ((block("sh", "x") + block("text", "9.5 %") + "It is 9.5 %.", []),
                                ("It is 1.25, 2.5 or\n90.12 %.", ["1.25", "2.5", "90.12"]),
                                ("[It](other.md#x) is 90.12 % in ~5.5 us.", []),
                                ("See [it](other.md).\n\nIt is 90.12 %.", ["90.12"]),
                                ("1,024 bytes of 1,000 samples, about 10 %", ["1,024"])):
                page.write_text(text, encoding="utf-8")
                self.assertEqual(found, list(page_figures.unproved(page)), text)


if __name__ == "__main__":
    unittest.main()
