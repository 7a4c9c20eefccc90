// SPDX-License-Identifier: Apache-2.0
// The libraries write the files that the program writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halftone/language.h>

#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/api/language_quantization.h"
#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/language_quantize.hpp"
#include "halftone/lm/model/testing.h"
#include "tests/tiny_gguf_model.h"
#include "tests/tiny_language_model.h"

namespace halftone {
namespace {

/// A GGUF file of two blocks of random weights, whose tokens are the 256 bytes and one that ends
/// texts.
std::vector<std::byte> gguf_model() {
  const lm::Description d = lm::small_description(
      "llama",
      {.width = 64, .inner = 64, .heads = 4, .kv_heads = 2, .head_width = 16, .vocabulary = 257});
  std::vector<formats::NewGgufTensor> tensors;
  const std::vector<lm::NamedTensor> values = lm::small_tensors(d);
  for (const lm::NamedTensor& tensor : values) {
    tensors.push_back({tensor.name, tensor.shape, formats::gguf_type(0), lm::source_of(tensor)});
  }
  return formats::gguf_bytes(tiny_llama_keys(d), tensors);
}

class LanguageQuantizeApi : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    text_ = write_tiny_text(path("fit.txt"));
    EXPECT_EQ(halftone_context_create(nullptr, &context_), HALFTONE_OK);
  }
  void TearDown() override {
    halftone_context_destroy(context_);
    WithFolder::TearDown();
  }

  [[nodiscard]] std::vector<std::byte> by_the_program(const std::string& model,
                                                      const std::string& type,
                                                      const std::string& extension) const {
    LanguageQuantizeJob job;
    job.input = model;
    job.output = path("program" + extension);
    job.tokenizer = tokenizer_;
    job.texts = {text_};
    job.types.type = type;
    job.sample_tokens = 32;
    job.seed = 5;
    (void)quantize_language_model(job);
    return read_file(job.output);
  }
  [[nodiscard]] std::vector<std::byte> in_c(const std::string& model, const std::string& type,
                                            const std::string& extension) const {
    const char* texts[] = {text_.c_str()};
    halftone_language_quantize_options options{};
    options.struct_bytes = sizeof options;
    options.texts = texts;
    options.num_texts = 1;
    options.tokenizer = tokenizer_.empty() ? nullptr : tokenizer_.c_str();
    options.type = type.c_str();
    options.sample_tokens = 32;
    options.seed = 5;
    const std::string output = path("c" + extension);
    EXPECT_EQ(
        halftone_language_quantize(context_, model.c_str(), output.c_str(), &options, nullptr),
        HALFTONE_OK)
        << halftone_error_message();
    return read_file(output);
  }
  [[nodiscard]] std::vector<std::byte> in_cpp(const std::string& model, const std::string& type,
                                              const std::string& extension) const {
    v0::LanguageQuantizeOptions options;
    options.types.type = type;
    options.tokenizer = tokenizer_;
    options.sample_tokens = 32;
    options.seed = 5;
    options.resources.threads = 1;
    const std::vector<std::filesystem::path> texts = {text_};
    (void)v0::quantize_language_model(model, texts, path("cpp" + extension), options);
    return read_file(path("cpp" + extension));
  }
  void expect_same(const std::string& model, const std::string& type,
                   const std::string& extension) const {
    const std::vector<std::byte> expected = by_the_program(model, type, extension);
    EXPECT_EQ(in_c(model, type, extension), expected) << type;
    EXPECT_EQ(in_cpp(model, type, extension), expected) << type;
  }

  std::string text_;
  std::string tokenizer_;
  halftone_context* context_ = nullptr;
};

TEST_F(LanguageQuantizeApi, WritesTheFilesOfTheProgram) {
  const TinyLanguageModel tiny(path("tiny.bin"), TinyLanguageModel::kWideSizes);
  tokenizer_ = tiny.tokenizer();
  expect_same(tiny.path(), "4x8", ".safetensors");
  expect_same(tiny.path(), "Q4_0", ".safetensors");
}

TEST_F(LanguageQuantizeApi, WritesGgufFiles) {
  write_file(path("model.gguf"), gguf_model());
  expect_same(path("model.gguf"), "Q4_0", ".gguf");
  const TextModel before = TextModel::open(path("model.gguf"), {});
  TextModel after = TextModel::open(path("c.gguf"), {});
  const std::vector<lm::TokenId> tokens = before.tokenize("1042 foxes");
  EXPECT_EQ(after.tokenize("1042 foxes"), tokens);
  EXPECT_EQ(after.model().append(0, tokens, false).size(), 257U);
  EXPECT_LT(std::filesystem::file_size(path("c.gguf")),
            std::filesystem::file_size(path("model.gguf")) / 3);
}

}  // namespace
}  // namespace halftone
