// SPDX-License-Identifier: Apache-2.0
// Models that cannot be the draft of another.
#include <gtest/gtest.h>

#include "halftone/api/language_model.h"
#include "halftone/base/testing.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/model/testing.h"
#include "halftone/lm/text/testing.h"

namespace halftone {
namespace {

class LanguageDrafts : public WithFolder {
 protected:
  /// A file of random weights, whose tokens are the 256 bytes and one that ends texts.
  [[nodiscard]] std::string write(const std::string& name, const lm::Description& d) const {
    std::vector<formats::NewGgufTensor> tensors;
    const std::vector<lm::NamedTensor> values = lm::small_tensors(d);
    for (const lm::NamedTensor& tensor : values) {
      tensors.push_back({tensor.name, tensor.shape, formats::gguf_type(0), lm::source_of(tensor)});
    }
    const std::string file = path(name);
    formats::GgufKeys keys = lm::new_gguf_keys(d, name);
    std::vector<std::string> texts;
    for (int byte = 0; byte < 256; ++byte) {
      texts.push_back(lm::characters_from_bytes(std::string(1, static_cast<char>(byte))));
    }
    texts.emplace_back("<end>");
    std::vector<std::int32_t> kinds(texts.size(), 1);
    kinds.back() = 3;
    keys.set("tokenizer.ggml.model", "gpt2")
        .set("tokenizer.ggml.tokens", texts)
        .set("tokenizer.ggml.token_type", kinds)
        .set("tokenizer.ggml.merges", std::vector<std::string>())
        .set("tokenizer.ggml.eos_token_id", std::uint32_t{256});
    formats::write_gguf(file, keys, tensors);
    return file;
  }
  /// What opening a model with a draft says.
  void expect_refused(ErrorKind kind, const std::string& text, const std::string& draft) {
    OpenOptions options;
    const std::string model = write("model.gguf", lm::small_description("llama", kSizes));
    (void)TextModel::open(model, options);
    options.draft = draft;
    expect_error(kind, text, [&] { (void)TextModel::open(model, options); });
  }

  static constexpr lm::SmallSizes kSizes{.vocabulary = 257};
};

TEST_F(LanguageDrafts, MustTakeTokensBack) {
  lm::Description d = lm::small_description("lfm2", kSizes);
  d.mixers = {lm::Mixer::kConvolution, lm::Mixer::kAttention};
  d.taps = 3;
  lm::check(d);
  expect_refused(ErrorKind::kUnsupported,
                 "draft.gguf: a draft and its model have to take tokens back, and models with "
                 "recurrences cannot",
                 write("draft.gguf", d));
}

TEST_F(LanguageDrafts, MustKnowAllTokens) {
  lm::SmallSizes sizes = kSizes;
  sizes.vocabulary = 250;
  expect_refused(ErrorKind::kUsage, "draft.gguf: expected logits of 257 tokens, found 250",
                 write("draft.gguf", lm::small_description("llama", sizes)));
}

}  // namespace
}  // namespace halftone
