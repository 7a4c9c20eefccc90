// SPDX-License-Identifier: Apache-2.0
// Language models, as users run them.
#include "halftone/base/file.h"
#include "tests/program.h"

namespace halftone {
namespace {

using testing::HasSubstr;

class ProgramLanguage : public Program {};

TEST_F(ProgramLanguage, RefusesOptionsThatDoNotFit) {
  write_file(path("t.txt"), std::string_view("Once upon a time"));
  expect_failure("generate m.gguf", 2, "expected a prompt: either --prompt or --file");
  expect_failure("generate m.gguf -p a -f b", 2, "--prompt excludes --file");
  expect_failure("generate m.gguf -p a --top-p 0", 2, "--top-p: expected a number from");
  expect_failure("generate m.gguf -p a --context 0", 2,
                 "--context: expected a whole number from 1");
  expect_failure("generate m.bin -p a", 2, "m.bin: a model of llama2.c: expected a tokenizer");
  expect_failure("generate m.gguf -p a --tokenizer t.bin", 2,
                 "expected no other one (--tokenizer)");
  expect_failure("eval m.gguf", 2, "--data is required");
  expect_failure("eval m.gguf --text t.txt --data d", 2, "excludes");
  expect_failure("eval m.gguf --data d --stride 3", 2, "--stride requires --text");
  expect_failure("eval m.gguf --text t.txt --context 1", 2, "expected a whole number from 2");
  expect_failure("bench " + kModel + " --depth 1", 2, "--depth: only of language models");
  expect_failure("bench m.gguf --batch 1", 2, "--batch: only of networks without states");
  expect_failure("bench m.gguf --depth x", 2, "--depth: expected a whole number");
}

TEST_F(ProgramLanguage, RefusesFilesThatAreNone) {
  expect_failure("generate none.gguf -p a", 3, "none.gguf: cannot open");
  expect_failure("generate m.gguf -f none.txt", 3, "none.txt: cannot open");
  expect_failure("chat none.gguf < /dev/null", 3, "none.gguf: cannot open");
  expect_failure("bench none.gguf", 3, "none.gguf: cannot open");
  expect_failure("eval none.gguf --text none.txt", 3, "none.txt: cannot open");
  write_file(path("broken.gguf"), std::string_view("GGUF"));
  expect_failure("generate " + path("broken.gguf") + " -p a", 3, "broken.gguf: ");
}

}  // namespace
}  // namespace halftone
