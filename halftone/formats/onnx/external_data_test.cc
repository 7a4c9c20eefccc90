// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "halftone/base/file.h"
#include "halftone/base/random.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

namespace fs = std::filesystem;
using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

/// A folder with weights.bin (64 bytes: 0, 1, 2 ... as float32), removed with the test.
class ExternalDataTest : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    model_ = folder_ / "model";
    fs::create_directories(model_ / "sub");
    std::vector<float> numbers(16);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    write_file(model_ / "weights.bin", std::as_bytes(std::span(numbers)));
    write_file(folder_ / "secret.bin", std::as_bytes(std::span(numbers)));
  }

  static TestModel model(const std::vector<std::pair<std::string, std::string>>& entries) {
    TensorProto proto;
    proto.set_data_type(TensorProto::FLOAT);
    proto.add_dims(2);
    proto.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto& entry = *proto.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    TestModel result;
    result.input("x", {-1, 2}).initializer("w", proto).output("y");
    result.node("Add", {"x", "w"}, {"y"});
    return result;
  }

  void expect_refused(const std::vector<std::pair<std::string, std::string>>& entries,
                      ErrorKind kind, const std::string& text) {
    expect_error(kind, text, [&] { static_cast<void>(model(entries).import(model_)); });
  }

  fs::path model_;
};

TEST_F(ExternalDataTest, IsReadFromTheModelsFolder) {
  const auto graph =
      model({{"location", "weights.bin"}, {"offset", "12"}, {"length", "8"}}).import(model_);
  EXPECT_THAT(numbers(run_reference(graph, list(floats({1, 2}, {0, 0})))[0]), ElementsAre(3, 4));
}

TEST_F(ExternalDataTest, IsAViewOfTheMappedFile) {
  const auto graph =
      model({{"location", "weights.bin"}, {"offset", "12"}, {"length", "8"}}).import(model_);
  std::size_t views = 0;
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::Constant* constant = graph.constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (constant != nullptr && std::get<ir::Tensor>(*constant).is_view()) ++views;
  }
  EXPECT_EQ(views, 1U);
  fs::remove(model_ / "weights.bin");
  EXPECT_THAT(numbers(run_reference(graph, list(floats({1, 2}, {0, 0})))[0]), ElementsAre(3, 4));
}

TEST_F(ExternalDataTest, LengthMayBeOmitted) {
  expect_refused({{"location", "sub/../weights.bin"}}, ErrorKind::kFormat, "found '..'");
  const auto plain = model({{"location", "./weights.bin"}}).import(model_);
  EXPECT_THAT(numbers(run_reference(plain, list(floats({1, 2}, {0, 0})))[0]), ElementsAre(0, 1));
}

TEST_F(ExternalDataTest, OutsideTheFolderIsRefused) {
  expect_refused({{"location", "../secret.bin"}}, ErrorKind::kFormat, "found '..'");
  expect_refused({{"location", (folder_ / "secret.bin").string()}}, ErrorKind::kFormat,
                 "found an absolute path");
  fs::create_symlink(folder_ / "secret.bin", model_ / "link.bin");
  expect_refused({{"location", "link.bin"}}, ErrorKind::kFormat,
                 "a symbolic link leads outside the model's folder");
  fs::create_directory_symlink(folder_, model_ / "up");
  expect_refused({{"location", "up/secret.bin"}}, ErrorKind::kFormat, "leads out");
}

TEST_F(ExternalDataTest, LinksInsideTheFolderAreFollowed) {
  fs::create_symlink("weights.bin", model_ / "inside.bin");
  const auto graph = model({{"location", "inside.bin"}}).import(model_);
  EXPECT_THAT(numbers(run_reference(graph, list(floats({1, 2}, {0, 0})))[0]), ElementsAre(0, 1));
}

TEST_F(ExternalDataTest, RangesOutsideTheFileAreRefused) {
  expect_refused({{"location", "weights.bin"}, {"offset", "60"}}, ErrorKind::kFormat,
                 "external data of 8 bytes at offset 60 exceed the file of 64 bytes");
  expect_refused({{"location", "weights.bin"}, {"offset", "18446744073709551612"}},
                 ErrorKind::kFormat, "exceed the file");
  expect_refused({{"location", "weights.bin"}, {"length", "12"}}, ErrorKind::kFormat,
                 "expected 8 bytes of external data, found a length of 12");
  expect_refused({{"location", "weights.bin"}, {"offset", "-4"}}, ErrorKind::kFormat,
                 "expected a number as offset, found '-4'");
}

TEST_F(ExternalDataTest, MissingAndIrregularFilesAreRejected) {
  expect_refused({{"location", "absent.bin"}}, ErrorKind::kIo, "absent.bin: No such file");
  expect_refused({{"location", "sub"}}, ErrorKind::kFormat, "expected a regular file");
  expect_refused({}, ErrorKind::kFormat, "expected a file name");
  ErrorKind kind{};
  EXPECT_THAT(import_failure(model({{"location", "weights.bin"}}).bytes(), kind),
              HasSubstr("the folder of the model was not given"));
}

TEST_F(ExternalDataTest, SmallFileCannotBecomeALargeModel) {
  TensorProto proto;
  proto.set_data_type(TensorProto::FLOAT);
  proto.add_dims(16);
  proto.set_data_location(TensorProto::EXTERNAL);
  auto& entry = *proto.add_external_data();
  entry.set_key("location");
  entry.set_value("weights.bin");
  TestModel result;
  result.input("x", {-1, 16}).output("x");
  for (int i = 0; i < 5; ++i) result.initializer("w" + std::to_string(i), proto);
  EXPECT_THROW(static_cast<void>(result.import(model_)), Error);
}

/// Layers of 2 MiB and 6 KiB of weights.
ir::Graph two_layers() {
  Random random(1);
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3}));
  for (const auto& [name, shape] : {std::pair("a", ir::Shape{512, 3}), {"b", {1024, 512}}}) {
    const ir::ValueId w =
        graph.add_constant(std::string(name) + ".w", ir::test::random_tensor(shape, random));
    x = graph.add_node(name, ir::FullyConnected{}, {x, w});
  }
  graph.add_output(x);
  return graph;
}

TEST_F(ExternalDataTest, HoldsWhatAModelCannot) {
  const ir::Graph graph = two_layers();
  constexpr std::size_t kMost = std::size_t{1} << 20;
  expect_error(ErrorKind::kUnsupported, "expected at most 2 GiB in one piece", [&] {
    (void)onnx_model(graph, {}, {"", kMost});
  });
  EXPECT_TRUE(onnx_model(graph, {}, {"m.onnx.data", 3 * kMost}).external.empty());

  OnnxModel model = onnx_model(graph, {}, {"m.onnx.data", kMost});
  ASSERT_EQ(model.external.size(), 2U);
  EXPECT_EQ(model.external[1].offset, 8192U) << "6 KiB, and the next page";
  // Constants are not copied.
  const auto& large =
      std::get<ir::Tensor>(*graph.constant(graph.node(graph.topological_order()[1]).inputs[1]));
  EXPECT_EQ(model.external[1].bytes.bytes.data(), large.bytes().data());
  NewFile file(model_ / "m.onnx");
  append_onnx(model, file);
  file.finish();
  NewFile data(model_ / "m.onnx.data");
  append_external(model, data);
  data.finish();
  EXPECT_LT(fs::file_size(model_ / "m.onnx"), 2048U);
  EXPECT_EQ(fs::file_size(model_ / "m.onnx.data"), 8192U + 1024 * 512 * 4);
  std::uintmax_t external_bytes = 0;
  ir::test::expect_same_function(
      import_onnx(read_file(model_ / "m.onnx"), model_, {}, nullptr, &external_bytes), graph);
  EXPECT_EQ(external_bytes, fs::file_size(model_ / "m.onnx.data"));
  ir::test::expect_same_function(import_onnx(std::move(model)), graph);
}

}  // namespace
}  // namespace halftone::formats::onnx
