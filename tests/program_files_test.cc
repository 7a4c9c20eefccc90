// SPDX-License-Identifier: Apache-2.0
// What the program does with its files: outputs that are inputs, paths that cannot be read, options
// that it does not know.
#include <array>
#include <string>
#include <vector>

#include "halftone/base/file.h"
#include "tests/program.h"

namespace halftone {
namespace {

using testing::HasSubstr;

class ProgramFiles : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::filesystem::copy_file(kModel, path("m.onnx"));
    write_file(path("space.toml"),
               "accelerator = \"edge-2bit\"\nweight_bits = [2, 4]\n"
               "[[parameter]]\nkey = \"memory.SRAM.bytes\"\nvalues = [65536, 131072]\n");
  }

  /// The command ends with exit code 2, and the file is as it was.
  void expect_unchanged(const std::string& arguments, const std::string& file) const {
    const std::string before = text_of(file);
    ASSERT_FALSE(before.empty()) << file;
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("and the file to write")) << arguments;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_TRUE(text_of(file) == before) << arguments;
  }

  const std::string data_ = " --data " + kExample + " --limit 20 ";
};

TEST_F(ProgramFiles, AreNotWrittenOverThoseThatItReads) {
  const std::string m = path("m.onnx");
  const std::string link = path("d/../link.onnx");
  std::filesystem::create_directory(path("d"));
  std::filesystem::create_hard_link(m, path("link.onnx"));
  for (const std::string& output : {m, link, path(".") + "/m.onnx"}) {
    const std::string explore = "explore " + m + data_ + "--space " + path("space.toml");
    for (const char* option : {" --recipe-out ", " --accelerator-out ", " --front ", " --state "}) {
      expect_unchanged(explore + option + output, m);
    }
    expect_unchanged("quantize " + m + data_ + "-o " + path("o.circle") +
                         " --budget bytes=60k --write-recipe " + output,
                     m);
    for (const char* option : {" --timeline ", " --roofline "}) {
      expect_unchanged("estimate " + m + " --accelerator edge-2bit" + option + output, m);
    }
    expect_unchanged("report " + m + " -o " + output, m);
    expect_unchanged("convert " + m + " " + output, m);
    expect_unchanged("sensitivity " + m + data_ + "--state " + output, m);
  }
  write_file(path("x.npy"), "samples");
  expect_unchanged("report " + m + " -o " + path("x.npy") + " --data " + path("x.npy"),
                   path("x.npy"));
  write_file(path("t.txt"), "text");
  expect_unchanged("quantize " + path("m.gguf") + " -o " + path("o.gguf") + " --text " +
                       path("t.txt") + " --write-recipe " + path("t.txt"),
                   path("t.txt"));
  write_file(path("f.gguf"), "GGUF");
  expect_unchanged("inspect " + path("f.gguf") + " --tensor T -o " + path("f.gguf"),
                   path("f.gguf"));
  std::filesystem::create_symlink(path("new.svg"), path("dangling.svg"));
  expect_failure("estimate " + m + " --accelerator edge-2bit --timeline " + path("new.svg") +
                     " --roofline " + path("dangling.svg"),
                 2, "is the file to write (--timeline) and the file to write (--roofline)");
}

TEST_F(ProgramFiles, AreNotTheInputsOfARunEither) {
  std::filesystem::copy_file(kExample + "/README.md", path("out0.npy"));
  expect_unchanged("run " + path("m.onnx") + " --input " + path("out0.npy") + " -o " + path("."),
                   path("out0.npy"));
}

TEST_F(ProgramFiles, ThatCannotBeReadEndItWithCode3) {
  std::filesystem::create_symlink("ring", path("ring"));
  const std::string m = path("m.onnx");
  for (const std::string& bad : {path("ring"), path(std::string(256, 'x'))}) {
    for (const std::string& arguments : std::vector<std::string>{
             "inspect " + bad, "inspect " + bad + ".safetensors",
             "report " + bad + ".onnx -o " + path("r.html"),
             "report " + m + " -o " + path("r.html") + " --overlay " + bad + "/o.json",
             "report " + m + " -o " + bad, "generate " + bad + " -p x", "bench " + bad,
             "eval " + bad + " --text " + m,
             "sensitivity " + m + data_ + "--no-time --choices 2 --state " + bad,
             "crossbar " + m + data_ + "--device " + bad,
             "quantize " + bad + " -o " + path("o.safetensors") + " --type Q4_0 --text " + m,
             "quantize " + m + data_ + "-o " + path("o.onnx") + " --recipe " + bad}) {
      expect_failure(arguments, 3, "");
      EXPECT_THAT(text_of(path("stderr")), testing::Not(HasSubstr("filesystem error")));
    }
  }
}

TEST_F(ProgramFiles, AreAllThereOrNone) {
  const std::string files = " --roofline " + path("r.svg") + " --timeline " + path("t.json");
  const std::string estimate = "estimate " + path("m.onnx") + " --accelerator edge-2bit" + files;
  ASSERT_EQ(run(estimate).code, 0);
  const auto first = std::filesystem::file_size(path("r.svg"));
  const auto second = std::filesystem::file_size(path("t.json"));
  constexpr std::uintmax_t kBlock = 512;  // of ulimit
  const std::string limit = std::to_string((std::max(first, second) - 1) / kBlock);
  for (const char* name : {"r.svg", "t.json"}) std::filesystem::remove(path(name));
  const Outcome outcome = run(estimate, "ulimit -f " + limit + ";");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  for (const char* name : {"r.svg", "t.json"}) {
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  }
}

TEST_F(ProgramFiles, HaveOptionsThatUsersOfOtherProgramsKnow) {
  const std::string quantize = "quantize m.onnx -o q.circle --data x.npy ";
  for (const auto& [arguments, message] : std::vector<std::array<std::string, 2>>{
           {quantize + "--bits 2",
            "unknown option '--bits'; did you mean --weight-bits and --activation-bits?"},
           {quantize + "--weight_bits 2",
            "unknown option '--weight_bits'; did you mean --weight-bits?"},
           {quantize + "--wieght-bits 2", "'--wieght-bits'; did you mean --weight-bits?"},
           {quantize + "--calibrate_method=x", "'--calibrate_method'; did you mean --calibrator?"},
           {quantize + "--subset-size 3", "'--subset-size'; did you mean --limit?"},
           {quantize + "--group-size 3", "did you mean --recipe, whose key group_size says it?"},
           {quantize + "--zzzzzzzz 3", "unknown option '--zzzzzzzz'; see halftone quantize --help"},
           {quantize + "extra", "unexpected argument 'extra'"},
           {"quantize --model m.onnx -o q.circle",
            "did you mean the file alone, without an option?"},
           {"generate m.gguf -p x --temp 1",
            "unknown option '--temp'; did you mean --temperature?"},
           {"generate m.gguf -p x --n-predict 5", "'--n-predict'; did you mean --tokens?"},
           {"generate m.gguf -p x --ctx-size 5", "did you mean --context?"},
           {"train m.onnx -o t.onnx --data d --lr 0.1", "'--lr'; did you mean --learning-rate?"},
           {"train m.onnx -o t.onnx --data d --hold-out 0.1", "unknown option '--hold-out'"},
           {"quantise m.onnx", "unknown verb 'quantise'; did you mean quantize?"}}) {
    expect_failure(arguments, 2, message);
  }
  const std::string known = "quantize " + path("m.onnx") + data_ + "-o " + path("q.circle") + " ";
  for (const auto& [arguments, message] : std::vector<std::array<std::string, 2>>{
           {known + "--calibrator minmax", "minmax not in {fit,min-max,"},
           {known + "--calibrator minmax", "; did you mean min-max?; see halftone quantize --help"},
           {known + "--arithmetic integer", "; did you mean integers?"},
           {known + "--arithmetic entropy", "float}; see halftone quantize --help"},
           {known + "--scheme afine", "; did you mean affine?"},
           {known + "--simd AVX22", "; did you mean AVX2?"},
           {"estimate " + path("m.onnx") + " --accelerator a1000", "; did you mean a100?"}}) {
    expect_failure(arguments, 2, message);
  }
  expect_failure("eval x.gguf", 2, "--text, of a language model, is required");
}

TEST_F(ProgramFiles, TakesSystemsAsPeopleTypeThem) {
  const std::string quantize =
      "quantize " + path("m.onnx") + data_ + "-o " + path("q.circle") + " --json ";
  const Outcome outcome = run(quantize + "--scheme int8");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"weight_bits\": 8"));
  EXPECT_THAT(outcome.out, HasSubstr("\"activation_bits\": 8"));
  const std::string int8 = text_of(path("q.circle"));
  ASSERT_EQ(run(quantize + "--scheme int --weight-bits 8 --activation-bits 8").code, 0);
  EXPECT_TRUE(text_of(path("q.circle")) == int8);
  const Outcome inspected = run("inspect " + path("q.circle") + " --json");
  EXPECT_THAT(inspected.out, HasSubstr("\"weight_encoding\": {"));
  EXPECT_THAT(inspected.out, HasSubstr("\"granularity\": \"channel\""));
  expect_failure(quantize + "--scheme int8 --weight-bits 4", 2,
                 "weight bits: expected 8, as the scheme int8 says, found 4");
  expect_failure(quantize + "--activation-bits none --calibrator mse", 2,
                 "calibrator: has no effect with float32 activations");
  EXPECT_EQ(run("systems uint4").code, 0);
  EXPECT_THAT(run("systems int_narrow --bits 4 --json").out, testing::Not(HasSubstr("-8")));
}

TEST_F(ProgramFiles, LeavesNothingOnAFullDisk) {
  for (const std::string name : {"big.onnx", "big.tflite", "big.circle"}) {
    ASSERT_EQ(run("convert " + kModel + " " + path(name)).code, 0);
    const std::uintmax_t blocks = (std::filesystem::file_size(path(name)) - 1) / 1024;
    std::filesystem::remove(path(name));
    // A limit on the file size simulates a full disk: early, and at the last block.
    for (const std::uintmax_t limit : {std::uintmax_t{1}, std::uintmax_t{16}, blocks}) {
      const Outcome full =
          run("convert " + kModel + " " + path(name),
              "bash -c 'ulimit -f " + std::to_string(limit) + "; exec \"$@\"' bash");
      EXPECT_EQ(full.code, 3) << full.err;
      EXPECT_THAT(full.err, HasSubstr(name + ": cannot write: File too large"));
      for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr(name)));
      }
    }
  }
}

}  // namespace
}  // namespace halftone
