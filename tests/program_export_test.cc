// SPDX-License-Identifier: Apache-2.0
// `export --target c` as users call it: what it writes, prints and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/program.h"

namespace halftone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class ProgramExport : public Program {
 protected:
  /// Exports to the folder `c`.
  [[nodiscard]] Outcome export_c(const std::string& model, const std::string& more = "") const {
    return run("export '" + model + "' -o '" + path("c") + "' --target c " + more);
  }

  /// Compiles what is in the folder and runs its test.
  void expect_runs() const {
    if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
    const std::string command = "cd '" + path("c") +
                                "' && cc -std=c99 -O1 -ffp-contract=off -Wall -Wextra -Wconversion "
                                "-pedantic -Werror *.c -o ../program && ../program > ../printed";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_THAT(text_of(path("printed")), HasSubstr(" 0 wrong outputs\n"));
  }

  void expect_error(const Outcome& outcome, int code, const std::string& text) const {
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
};

TEST_F(ProgramExport, WritesNetworksOfFewBits) {
  for (const char* bits : {"1", "2", "3"}) {
    const std::string model = path("m.circle");
    ASSERT_EQ(run("quantize " + kModel + " -o " + model + " --data " + kExample +
                  " --limit 50 --weight-bits " + bits + " --activation-bits " + bits)
                  .code,
              0);
    const Outcome outcome = export_c(model, "--name digits");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("flash: "));
    EXPECT_THAT(outcome.out, HasSubstr("RAM: "));
    expect_runs();
  }
}

TEST_F(ProgramExport, WritesPublishedNetworksOfIntegers) {
  const char* set = std::getenv("HALFTONE_DATA");
  const std::filesystem::path data =
      set != nullptr ? set : std::filesystem::path(HALFTONE_SOURCE_DIR) / "../shared/data";
  // TensorFlow Lite Micro's arenas for them: 768, 49152, 16000 and 73728 bytes.
  const std::pair<const char*, std::size_t> networks[] = {{"toycar_autoencoder_int8.tflite", 768},
                                                          {"resnet8_cifar10_int8.tflite", 49152},
                                                          {"kws_dscnn_int8.tflite", 16000},
                                                          {"vww_mobilenet_int8.tflite", 73728}};
  for (const auto& [name, arena] : networks) {
    const std::filesystem::path model = data / "models" / name;
    if (!std::filesystem::exists(model)) GTEST_SKIP() << "needs " << model;
    const Outcome outcome = export_c(model.string(), "--core cortex-m33 --json");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json found = Json::parse(outcome.out);
    EXPECT_LE(found["ram"]["bytes"], arena) << name;
    EXPECT_LE(found["flash"]["code"], 16384) << name;
    EXPECT_EQ(found["core"], "cortex-m33");
    EXPECT_GT(found["inputs"][0]["scale"], 0) << name;
    EXPECT_EQ(found["flash"]["bytes"], found["flash"]["weights"].get<int>() +
                                           found["flash"]["tables"].get<int>() +
                                           found["flash"]["code"].get<int>());
    expect_runs();
  }
}

TEST_F(ProgramExport, ReplacesWhatAnEarlierExportMadeAndNothingElse) {
  EXPECT_EQ(export_c(kModel).code, 0);
  const std::string once = text_of(path("c/net.c"));
  std::ofstream(path("c/notes.txt")) << "mine\n";
  EXPECT_EQ(export_c(kModel).code, 0);
  EXPECT_EQ(text_of(path("c/net.c")), once);
  EXPECT_EQ(text_of(path("c/notes.txt")), "mine\n");
  std::ofstream(path("c/main.c")) << "int main(void) { return 0; }\n";
  std::filesystem::remove(path("c/net.c"));
  expect_error(export_c(kModel), 2, "main.c: was not made by an earlier export");
  EXPECT_FALSE(std::filesystem::exists(path("c/net.c")));
}

TEST_F(ProgramExport, BudgetsAreThoseOfTheFiles) {
  const std::string model = path("m.circle");
  const std::string quantize = "quantize " + kModel + " -o " + model + " --data " + kExample +
                               " --limit 50 --choices 1,2,8 --tries 2 --json --budget ";
  const Outcome outcome = run(quantize + "flash=160k,ram=3.5k");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json found = Json::parse(outcome.out);
  EXPECT_EQ(found["budget"], Json({{"flash", 160000}, {"ram", 3500}}));
  const Json written = Json::parse(export_c(model, "--json").out);
  EXPECT_EQ(found["chosen"]["bytes"], written["flash"]["bytes"]);
  EXPECT_LE(written["flash"]["bytes"], 160000);
  EXPECT_EQ(found["ram_bytes"], written["ram"]["bytes"]);
  EXPECT_LE(written["ram"]["bytes"], 3500);
  std::filesystem::remove(model);
  expect_error(run(quantize + "flash=160k,ram=3k"), 4, "budget ram=3000 cannot be met");
  expect_error(run(quantize + "flash=1k"), 4, "cannot be met with these choices: the least is");
  expect_error(run(quantize + "ram=3k"), 2, "expected another limit beside ram=");
  expect_error(run(quantize + "flash=1k,bytes=1k"), 2, "expected one of bytes= and flash=");
  expect_error(run(quantize + "flash=1k,flash=1k"), 2, "flash is there twice");
  expect_error(run(quantize + "ram=1k,ram=1k"), 2, "ram is there twice");
  expect_error(run(quantize + "flash=x"), 2, "found 'flash=x'");
  EXPECT_FALSE(std::filesystem::exists(model));
}

TEST_F(ProgramExport, BudgetsCountTheInstructionsOfTheFiles) {
  const std::string model = path("m.circle");
  const std::string quantize = "quantize " + kModel + " -o " + model + " --data " + kExample +
                               " --limit 50 --choices 1,2,8 --tries 2 --json --budget ";
  const Outcome outcome = run(quantize + "instructions=1.5M,flash=160k --core cortex-m3");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json found = Json::parse(outcome.out);
  EXPECT_EQ(found["budget"], Json({{"flash", 160000}, {"instructions", 1500000}}));
  const Json written = Json::parse(export_c(model, "--core cortex-m3 --json").out);
  EXPECT_EQ(found["core"], written["core"]);
  EXPECT_EQ(found["chosen"]["instructions"], written["instructions"]);
  EXPECT_EQ(found["chosen"]["bytes"], written["flash"]["bytes"]);
  EXPECT_LE(written["instructions"], 1500000);
  double sum = 0;
  for (const Json& layer : written["layers"]) sum += layer["instructions"].get<double>();
  EXPECT_EQ(sum, written["instructions"]);
  EXPECT_GT(Json::parse(export_c(model, "--core cortex-m0 --json").out)["instructions"],
            written["instructions"]);

  const Json energy =
      Json::parse(run(quantize + "pj=3e7 --core cortex-m3 --instruction-pj 20").out);
  EXPECT_EQ(energy["chosen"]["pj"], 20 * energy["chosen"]["instructions"].get<double>());
  EXPECT_LE(energy["chosen"]["pj"], 3e7);
  EXPECT_EQ(energy["chosen"]["instructions"],
            Json::parse(export_c(model, "--core cortex-m3 --json").out)["instructions"]);
  std::filesystem::remove(model);
  expect_error(run(quantize + "instructions=10k"), 4,
               "budget instructions=10000 cannot be met with these choices: the least is");
  expect_error(run(quantize + "instructions=1M --core z80"), 2, "core: expected cortex-m0");
  expect_error(run(quantize + "instructions=x"), 2, "found 'instructions=x'");
  expect_error(run(quantize + "bytes=90k --core cortex-m0"), 2, "--core: only with --budget");
  expect_error(run(quantize + "bytes=90k --instruction-pj 3"), 2, "only with --budget pj=");
  EXPECT_FALSE(std::filesystem::exists(model));
}

TEST_F(ProgramExport, WritesModulesForBrowsers) {
  if (std::system("command -v clang wasm-ld > /dev/null") != 0) GTEST_SKIP() << "no Clang";
  const std::string command = "export '" + kModel + "' -o '" + path("w") + "' --target wasm ";
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(": 3 files\nmodule: "));
  const std::string module = text_of(path("w/net.wasm"));
  EXPECT_EQ(module.substr(0, 8), std::string("\0asm\1\0\0\0", 8));
  EXPECT_THAT(text_of(path("w/index.html")), HasSubstr("<script src=\"net.js\"></script>"));
  EXPECT_EQ(Json::parse(run(command + "--json").out)["module_bytes"], module.size());
  EXPECT_EQ(text_of(path("w/net.wasm")), module);
  for (const std::string option : {"--core rv32", "--input-codes", "--pointers"}) {
    expect_error(run(command + option), 2, ": only with --target c");
  }
  std::ofstream(path("w/net.js")) << "my_own();\n";
  expect_error(run(command), 2, "net.js: was not made by an earlier export");
}

TEST_F(ProgramExport, LeavesInputsWithTheCaller) {
  const Json written = Json::parse(export_c(kModel, "--pointers --json").out);
  EXPECT_LT(written["ram"]["bytes"], 784 * 4) << "an input takes more";
  expect_runs();
}

TEST_F(ProgramExport, RefusesFoldersOfOthers) {
  std::filesystem::create_directory(path("c"));
  std::ofstream(path("c/README.md")) << "# Mine\n";
  expect_error(export_c(kModel), 2, "has files, and none of an earlier export");
  EXPECT_EQ(text_of(path("c/README.md")), "# Mine\n");
  std::filesystem::remove_all(path("c"));
  std::ofstream(path("c")) << "a file\n";
  expect_error(export_c(kModel), 2, "expected a folder");
}

TEST_F(ProgramExport, RefusesWhatDoesNotFit) {
  expect_error(export_c(kModel, "--ram 5000"), 4, "the arena takes 5936 bytes, allowed are 5000");
  expect_error(export_c(kModel, "--input-codes"), 4,
               "it takes codes only if one encoder of 8 bits");
  expect_error(export_c(kModel, "--name 2net"), 2, "expected a C identifier");
  expect_error(export_c(kModel, "--core z80"), 2, "core: expected cortex-m0, cortex-m3");
  expect_error(export_c(kModel, "--vectors 1000"), 2, "vectors: expected 1 to 100");
  expect_error(run("export " + kModel + " -o " + path("c") + " --target vhdl"), 2, "--target");
  expect_error(export_c(path("missing.onnx")), 3, "missing.onnx");
  EXPECT_FALSE(std::filesystem::exists(path("c")));
}

}  // namespace
}  // namespace halftone
