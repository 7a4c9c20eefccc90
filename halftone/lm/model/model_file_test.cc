// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/model_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "halftone/base/testing.h"
#include "halftone/formats/gguf/block_types.h"
#include "halftone/formats/safetensors/safetensors_writer.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/description_json.h"
#include "halftone/numerics/nested_encoding.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

Description file_description() {
  const Architecture& architecture = architecture_of_gguf("llama");
  Description d = start_description(architecture);
  d.blocks = 1;
  d.width = 64;
  d.vocabulary = 3;
  d.context = 16;
  d.heads = d.kv_heads = 2;
  d.head_width = 32;
  d.inner = 64;
  complete(d, architecture);
  return d;
}

SharedBytes counting_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return own_bytes(std::move(bytes));
}

numerics::SharedBlockEncoding q8_0() { return numerics::without_owner(*formats::gguf_type(8)); }

class ModelFiles : public WithFolder {
 protected:
  /// A file with a matrix of 2x6, one of Q8_0 and a vector.
  formats::SafetensorsFile written() {
    const auto vector = std::make_shared<const numerics::VectorEncoding>(
        numerics::shipped_vector_basis("2x6"), 0.1F);
    const std::vector<ModelTensor> tensors = {
        {"a.weight", {3, 64}, EncodedMatrix{vector, counting_bytes(3 * 25)}},
        {"b.weight", {2, 1, 32}, EncodedMatrix{q8_0(), counting_bytes(2 * 34)}},
        {"c.weight", {2}, std::vector<float>{1.5F, -2.0F}}};
    write_model_file(path("m.safetensors"), file_description(), tensors,
                     {{"tokenizer.json", counting_bytes(5)}});
    return formats::SafetensorsFile::open(path("m.safetensors"));
  }
  /// The same with other metadata or tensors.
  void expect_rejected(
      ErrorKind kind, const std::string& message,
      const std::function<void(formats::SafetensorsMetadata&,
                               std::vector<formats::NewSafetensorsTensor>&)>& change) {
    const formats::SafetensorsFile file = written();
    formats::SafetensorsMetadata metadata = file.metadata();
    std::vector<formats::NewSafetensorsTensor> tensors;
    for (const auto& tensor : file.tensors()) {
      tensors.push_back({tensor.name, tensor.type, tensor.shape, source_of(tensor.bytes)});
    }
    change(metadata, tensors);
    formats::write_safetensors(path("changed.safetensors"), metadata, tensors);
    expect_error(kind, message, [&] {
      (void)ModelFile::parse(formats::SafetensorsFile::open(path("changed.safetensors")));
    });
  }
};

TEST_F(ModelFiles, ReadWhatTheyWrote) {
  formats::SafetensorsFile container = written();
  EXPECT_TRUE(ModelFile::is_model(container));
  const ModelFile file = ModelFile::parse(std::move(container));
  EXPECT_EQ(file.description(), file_description());
  std::map<std::string, ModelFile::Entry> entries;
  for (ModelFile::Entry& entry : file.tensors()) entries[entry.name] = entry;
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries["a.weight"].encoding->factor, 0.1F);
  EXPECT_EQ(entries["a.weight"].encoding->basis->rate(), "2x6");
  EXPECT_EQ(entries["a.weight"].shape, (std::vector<std::size_t>{3, 64}));
  EXPECT_THAT(entries["a.weight"].bytes.bytes, testing::ElementsAreArray(counting_bytes(75).bytes));
  EXPECT_EQ(entries["b.weight"].encoding, q8_0());
  EXPECT_EQ(entries["b.weight"].shape, (std::vector<std::size_t>{2, 1, 32}));
  EXPECT_EQ(entries["c.weight"].encoding, nullptr);
  EXPECT_EQ(entries["c.weight"].type, formats::SafetensorsType::kF32);
  ASSERT_TRUE(file.texts().contains("tokenizer.json"));
  EXPECT_THAT(file.texts().at("tokenizer.json").bytes,
              testing::ElementsAreArray(counting_bytes(5).bytes));
}

/// Changes the JSON of the encodings.
auto with_encodings(const std::function<void(json&)>& change) {
  return [change](formats::SafetensorsMetadata& metadata, auto& /*tensors*/) {
    json encodings = json::parse(metadata.at("halftone.encodings"));
    change(encodings);
    metadata["halftone.encodings"] = encodings.dump();
  };
}

TEST_F(ModelFiles, RejectWhatIsNoModel) {
  expect_rejected(ErrorKind::kFormat, "expected 'halftone.model'",
                  [](auto& metadata, auto&) { metadata.erase("halftone.model"); });
  expect_rejected(ErrorKind::kUnsupported, "expected version 1, found 2",
                  [](auto& metadata, auto&) { metadata["halftone.model"] = "2"; });
  expect_rejected(ErrorKind::kFormat, "description of the model",
                  [](auto& metadata, auto&) { metadata["halftone.description"] = "{}"; });
  expect_rejected(ErrorKind::kFormat, "encodings: expected a JSON object",
                  [](auto& metadata, auto&) { metadata["halftone.encodings"] = "[]"; });
}

TEST_F(ModelFiles, RejectEncodingsThatDoNotFit) {
  const auto expect_encoding = [&](ErrorKind kind, const std::string& message,
                                   const std::function<void(json&)>& change) {
    expect_rejected(kind, message, with_encodings(change));
  };
  expect_encoding(ErrorKind::kFormat, "'d.weight': is missing",
                  [](json& e) { e["d.weight"] = e["a.weight"]; });
  expect_encoding(ErrorKind::kFormat, "expected a JSON object as encoding",
                  [](json& e) { e["a.weight"] = 1; });
  expect_encoding(ErrorKind::kUnsupported, "unknown type '9x9'",
                  [](json& e) { e["a.weight"]["type"] = "9x9"; });
  expect_encoding(ErrorKind::kFormat, "expected a type as a text",
                  [](json& e) { e["a.weight"]["type"] = 7; });
  expect_encoding(ErrorKind::kFormat, "has no factor",
                  [](json& e) { e["a.weight"].erase("factor"); });
  expect_encoding(ErrorKind::kFormat, "'a.weight'", [](json& e) { e["a.weight"]["factor"] = -1; });
  expect_encoding(ErrorKind::kFormat, "two or three extents",
                  [](json& e) { e["a.weight"]["shape"] = {192}; });
  expect_encoding(ErrorKind::kFormat, "extents from 1 to 2^24", [](json& e) {
    e["a.weight"]["shape"] = {0, 64};
  });
  expect_encoding(ErrorKind::kFormat, "its bytes do not fit", [](json& e) {
    e["a.weight"]["shape"] = {3, 128};
  });
  expect_encoding(ErrorKind::kFormat, "its bytes do not fit", [](json& e) {
    e["a.weight"]["shape"] = {3, 63};
  });
  expect_encoding(ErrorKind::kFormat, "its bytes do not fit",
                  [](json& e) { e["c.weight"] = e["a.weight"]; });
}

/// A file with a nested matrix of 3 x 128 weights.
class NestedModelFiles : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    write_model_file(path("m.safetensors"), file_description(),
                     {{"a.weight", {3, 128}, EncodedMatrix{nested(), blocks_}}}, {});
  }
  static numerics::SharedBlockEncoding nested() {
    return numerics::without_owner(numerics::nested_encoding());
  }
  [[nodiscard]] formats::SafetensorsFile container() const {
    return formats::SafetensorsFile::open(path("m.safetensors"));
  }
  [[nodiscard]] ModelFile::Entry matrix(std::optional<std::size_t> bits) const {
    const std::vector<ModelFile::Entry> entries = ModelFile::parse(container(), bits).tensors();
    EXPECT_EQ(entries.size(), 1U);
    return entries.at(0);
  }

  SharedBytes blocks_ = counting_bytes(3 * 2 * 34);
};

TEST_F(NestedModelFiles, AreReadInBothPrecisions) {
  for (const auto bits : {std::optional<std::size_t>(), std::optional<std::size_t>(4)}) {
    const ModelFile::Entry all = matrix(bits);
    EXPECT_EQ(*all.encoding, numerics::nested_encoding());
    EXPECT_THAT(all.bytes.bytes, testing::ElementsAreArray(blocks_.bytes));
  }
  const ModelFile::Entry first = matrix(3);
  EXPECT_EQ(*first.encoding, numerics::first_bits_encoding());
  EXPECT_EQ(first.shape, (std::vector<std::size_t>{3, 128}));
  ASSERT_EQ(first.bytes.bytes.size(), 3 * 2 * 26U);
  for (std::size_t i = 0; i < first.bytes.bytes.size(); ++i) {
    EXPECT_EQ(first.bytes.bytes[i], blocks_.bytes[i / 26 * 34 + i % 26]);
  }
}

TEST_F(NestedModelFiles, RejectOtherBitsAndFilesWithoutThem) {
  expect_error(ErrorKind::kUsage, "bits: expected 3 or 4, found 2", [&] { (void)matrix(2); });
  write_model_file(path("m.safetensors"), file_description(),
                   {{"c.weight", {1}, std::vector<float>{1.0F}}}, {});
  expect_error(ErrorKind::kUsage, "found one without nested matrices", [&] { (void)matrix(3); });
}

TEST_F(NestedModelFiles, RejectDamagedParts) {
  const auto expect_damaged = [&](const std::string& message, const auto& change) {
    const formats::SafetensorsFile file = container();
    std::vector<formats::NewSafetensorsTensor> tensors;
    for (const auto& tensor : file.tensors()) {
      tensors.push_back({tensor.name, tensor.type, tensor.shape, source_of(tensor.bytes)});
    }
    change(tensors);
    formats::write_safetensors(path("changed.safetensors"), file.metadata(), tensors);
    for (const std::size_t bits : {3U, 4U}) {
      expect_error(ErrorKind::kFormat, message, [&] {
        (void)ModelFile::parse(formats::SafetensorsFile::open(path("changed.safetensors")), bits);
      });
    }
  };
  using Tensors = std::vector<formats::NewSafetensorsTensor>;
  const auto is_fourth = [](const auto& tensor) {
    return tensor.name == "halftone.fourth.a.weight";
  };
  expect_damaged("'halftone.fourth.a.weight': is missing",
                 [&](Tensors& tensors) { std::erase_if(tensors, is_fourth); });
  expect_damaged("'a.weight': is missing", [&](Tensors& tensors) {
    std::erase_if(tensors, [&](const auto& tensor) { return !is_fourth(tensor); });
  });
  expect_damaged("'halftone.fourth.a.weight': its bytes do not fit", [&](Tensors& tensors) {
    std::ranges::find_if(tensors, is_fourth)->shape = {6, 8};
  });
}

TEST_F(ModelFiles, RejectBasesThatAreNone) {
  expect_rejected(ErrorKind::kFormat, "halftone.basis.2x6", [](auto&, auto& tensors) {
    for (auto& tensor : tensors) {
      if (tensor.name == "halftone.basis.2x6") tensor.shape = {1, 12};
    }
  });
  expect_rejected(ErrorKind::kFormat, "halftone.basis.2x6", [](auto&, auto& tensors) {
    for (auto& tensor : tensors) {
      if (tensor.name == "halftone.basis.2x6") tensor.type = formats::SafetensorsType::kU8;
    }
  });
}

}  // namespace
}  // namespace halftone::lm
