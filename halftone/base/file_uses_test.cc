// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/file_uses.h"

#include <gtest/gtest.h>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

namespace fs = std::filesystem;

class FileUsesTest : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    fs::create_directory(path("d"));
    write_file(path("in"), "input");
  }

  static void expect_refused(const std::string& input, const std::string& output) {
    FileUses uses;
    uses.read("model", input);
    uses.write("--front", output);
    expect_error(ErrorKind::kUsage,
                 ": is the file to read (model) and the file to write (--front): name another file",
                 [&] { uses.check(); });
  }

  static void expect_one_output(const std::string& a, const std::string& b) {
    FileUses uses;
    uses.write("--front", a);
    uses.write("-o", b);
    expect_error(ErrorKind::kUsage,
                 b + ": is the file to write (--front) and the file to write (-o): name another",
                 [&] { uses.check(); });
  }

  static void expect_allowed(const std::string& input, const std::string& output) {
    FileUses uses;
    uses.read("model", input);
    uses.write("--front", output);
    EXPECT_NO_THROW(uses.check()) << output;
  }
};

TEST_F(FileUsesTest, FindAnInputBehindEveryPathToIt) {
  fs::create_hard_link(path("in"), path("hard"));
  fs::create_symlink("in", path("soft"));
  fs::create_symlink("soft", path("softer"));
  fs::create_symlink("d", path("e"));
  for (const char* name : {"in", "./in", "d/../in", "hard", "soft", "softer", "e/../in"}) {
    expect_refused(path("in"), path(name));
    expect_refused(path(name), path("in"));
  }
  for (const char* name : {"new", "d/in", "e/in", "in2"}) expect_allowed(path("in"), path(name));
}

TEST_F(FileUsesTest, FindTwoOutputsOfOneFileThatIsNotThereYet) {
  fs::create_symlink("new", path("dangling"));
  fs::create_symlink("d", path("e"));
  fs::create_symlink(fs::absolute(path("d")) / "x", path("to_x"));
  expect_one_output(path("new"), path("new"));
  expect_one_output(path("new"), path("d/../new"));
  expect_one_output(path("new"), path("dangling"));
  expect_one_output(path("d/x"), path("e/x"));
  expect_one_output(path("e/x"), path("to_x"));
  expect_one_output(path("new"), path("NEW"));
  expect_one_output(path("new"), path("new/"));
}

TEST_F(FileUsesTest, CountTheFilesOfFoldersThatAreRead) {
  for (const char* name :
       {"t10k-images-idx3-ubyte", "config.json", "model.safetensors", "a.svg", "q.safetensors"}) {
    write_file(folder_ / "d" / name, "x");
  }
  for (const char* name : {"t10k-images-idx3-ubyte", "config.json", "model.safetensors"}) {
    expect_refused(path("d"), (folder_ / "d" / name).string());
  }
  expect_allowed(path("d"), path("d/a.svg"));
  expect_allowed(path("d"), path("d/q.safetensors"));
  expect_allowed(path("d"), path("d/new.safetensors"));
}

TEST_F(FileUsesTest, CountTheDataThatAnOnnxModelNames) {
  write_file(path("d/m.onnx"), std::string("x\x0A\x08location\x12\x0Bweights.binx"));
  for (const char* name : {"d/weights.bin", "d/other.bin", "weights.bin"}) {
    write_file(path(name), "x");
  }
  expect_refused(path("d/m.onnx"), path("d/weights.bin"));
  expect_refused(path("d/m.onnx"), path("d/../d/weights.bin"));
  expect_allowed(path("d/m.onnx"), path("d/other.bin"));
  expect_allowed(path("d/m.onnx"), path("weights.bin"));
}

TEST_F(FileUsesTest, CountTheDataBesideAnOnnxModel) {
  for (const char* name : {"d/m.onnx", "d/m.onnx.data", "d/m.onnx_data", "d/m.onnx.data_1"}) {
    write_file(path(name), "x");
  }
  for (const char* name : {"d/m.onnx.data", "d/m.onnx_data", "d/m.onnx.data_1", "d/../d/m.onnx"}) {
    expect_refused(path("d/m.onnx"), path(name));
  }
  for (const char* name : {"d/m.data", "d/n.onnx", "m.onnx", "m.onnx.data"}) {
    expect_allowed(path("d/m.onnx"), path(name));
  }
  expect_allowed(path("in"), path("d/m.onnx.data"));
  // A large model gets such a file.
  FileUses uses;
  uses.write("-o", path("n.onnx"));
  uses.write("--report", path("n.onnx.data"));
  expect_error(ErrorKind::kUsage, "n.onnx.data: is the file to write (-o) and",
               [&] { uses.check(); });
}

TEST_F(FileUsesTest, CountAllFilesOfSamples) {
  for (const std::string& text :
       {path("in"), path("in") + ",y.npy", "x.npy," + path("in"), "x=" + path("in")}) {
    FileUses uses;
    uses.read_samples("--data", text);
    uses.write("-o", path("in"));
    expect_error(ErrorKind::kUsage, "is the file to read (--data)", [&] { uses.check(); });
  }
}

TEST_F(FileUsesTest, IgnoreEmptyPathsAndInputsThatAreNotThere) {
  FileUses uses;
  uses.read("--accelerator", "a100");
  uses.write("-o", "a100");
  uses.read("model", "");
  uses.write("--front", "");
  EXPECT_NO_THROW(uses.check());
}

TEST_F(FileUsesTest, RefuseRingsOfLinks) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  FileUses uses;
  uses.read("model", path("in"));
  uses.write("-o", path("a"));
  expect_error(ErrorKind::kIo, "cannot write: too many links", [&] { uses.check(); });
}

}  // namespace
}  // namespace halftone
