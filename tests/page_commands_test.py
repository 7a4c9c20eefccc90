#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What page_commands.py accepts and what it reports."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

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


if __name__ == "__main__":
    unittest.main()
