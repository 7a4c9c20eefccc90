// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "halftone/cpp/testing.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using outside::kModel;
using testing::Contains;

class CppExportC : public outside::WithFolder {};

TEST_F(CppExportC, WritesSourcesWithTheirSizes) {
  const Model model = load(kModel);
  const CExport written = export_c(model, path("c"));
  EXPECT_THAT(written.files, Contains("net.c"));
  EXPECT_TRUE(std::filesystem::exists(path("c/net.c")));
  // Weights and biases of 784-700-10 in float32.
  EXPECT_EQ(written.weight_bytes, 4U * (700 * 784 + 700 + 10 * 700 + 10));
  EXPECT_GT(written.flash_bytes(), written.weight_bytes);
  EXPECT_EQ(written.layers.front().kernel, "ht_dense_f32");
  EXPECT_EQ(written.inputs.at(0).type, "float32");
  EXPECT_EQ(export_c(model, path("c"), {.core = "rv32-zbb"}).core, "rv32-zbb");
  EXPECT_EQ(export_c(model, path("c"), {.name = "net"}).arena_bytes, written.arena_bytes);
}

TEST_F(CppExportC, WritesModulesForBrowsers) {
  if (std::system("command -v clang wasm-ld > /dev/null") != 0) GTEST_SKIP() << "no Clang";
  const Model model = load(kModel);
  const CExport written = export_wasm(model, path("w"), {.name = "digits"});
  EXPECT_THAT(written.files, testing::ElementsAre("digits.wasm", "digits.js", "index.html"));
  EXPECT_EQ(written.module_bytes, std::filesystem::file_size(path("w/digits.wasm")));
  EXPECT_GT(written.module_bytes, written.weight_bytes);
  EXPECT_EQ(written.core, "wasm");
  EXPECT_NO_THROW(export_wasm(model, path("w"), {.name = "digits"}));
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  expect_error(ErrorKind::kUnsupported, "install Debian's packages clang and lld",
               [&] { export_wasm(model, path("w")); });
  ::setenv("PATH", before.c_str(), 1);
}

TEST_F(CppExportC, RefusesWhatItCannotWrite) {
  const Model model = load(kModel);
  expect_error(ErrorKind::kUsage, "C identifier",
               [&] { export_c(model, path("c"), {.name = "while"}); });
  expect_error(ErrorKind::kUnsupported, "the arena takes",
               [&] { export_c(model, path("c"), {.ram_bytes = 100}); });
  std::filesystem::create_directory(path("other"));
  std::ofstream(path("other/main.c")) << "int main(void) { return 0; }\n";
  expect_error(ErrorKind::kUsage, "none of an earlier export",
               [&] { export_c(model, path("other")); });
  EXPECT_FALSE(std::filesystem::exists(path("c")));
}

}  // namespace
