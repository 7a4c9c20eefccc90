// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/embed/text_vectors.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "halftone/base/testing.h"
#include "halftone/formats/gguf/testing.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kWidth = 3;

/// Row t of a text is {token, t + 1, 1}, and zeros as far as logits go.
class Rows : public TokenModel {
 public:
  [[nodiscard]] std::size_t vocabulary() const override { return 10; }
  [[nodiscard]] std::size_t context() const override { return 200; }
  [[nodiscard]] std::size_t sequences() const override { return tokens_.size(); }
  [[nodiscard]] std::span<const TokenId> tokens(std::size_t sequence) const override {
    return tokens_.at(sequence);
  }
  std::vector<float> append(std::size_t sequence, std::span<const TokenId> tokens,
                            bool /*all*/) override {
    std::vector<float> rows(tokens.size() * vocabulary());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens_[sequence].push_back(tokens[i]);
      float* row = rows.data() + i * vocabulary();
      row[0] = static_cast<float>(tokens[i]);
      row[1] = static_cast<float>(tokens_[sequence].size());
      row[2] = 1;
    }
    max_run = std::max(max_run, tokens.size());
    return rows;
  }
  void truncate(std::size_t sequence, std::size_t length) override {
    tokens_.at(sequence).resize(length);
  }
  std::size_t max_run = 0;

 private:
  std::vector<std::vector<TokenId>> tokens_{2};
};

std::vector<float> unit(double a, double b, double c) {
  const double length = std::sqrt(a * a + b * b + c * c);
  return {static_cast<float>(a / length), static_cast<float>(b / length),
          static_cast<float>(c / length)};
}

TEST(TextVectors, AreMeansOrRowsOfUnitLength) {
  Rows rows;
  const std::vector<std::vector<TokenId>> text{{5, 7}};
  const auto vector = [&](Pooling pooling) { return text_vectors(rows, kWidth, pooling, text)[0]; };
  EXPECT_EQ(vector(Pooling::kMean), unit(12, 3, 2));
  EXPECT_EQ(vector(Pooling::kFirst), unit(5, 1, 1));
  EXPECT_EQ(vector(Pooling::kLast), unit(7, 2, 1));
  EXPECT_TRUE(text_vectors(rows, kWidth, Pooling::kMean, {}).empty());
}

TEST(TextVectors, DoNotDependOnOtherTexts) {
  Rows rows;
  std::vector<std::vector<TokenId>> texts;
  for (const std::size_t length : {1U, 150U, 2U, 64U, 65U, 3U, 200U}) {
    texts.emplace_back(length, static_cast<TokenId>(length % 10));
  }
  const auto together = text_vectors(rows, kWidth, Pooling::kMean, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const double n = static_cast<double>(texts[i].size());
    EXPECT_EQ(together[i], unit(n * static_cast<double>(texts[i][0]), n * (n + 1) / 2, n)) << i;
  }
  EXPECT_LE(rows.max_run, 64U);
}

TEST(TextVectors, BecomeShorter) {
  const std::vector<float> vector = unit(3, 4, 12);
  EXPECT_THAT(shortened(vector, 2), testing::ElementsAre(testing::FloatNear(0.6F, 1e-7F),
                                                         testing::FloatNear(0.8F, 1e-7F)));
  EXPECT_EQ(shortened(vector, 0), vector);
  EXPECT_EQ(shortened(vector, 3), vector);
  EXPECT_EQ(shortened(std::vector<float>{0, 0, 1}, 2), std::vector<float>({0, 0}));
  expect_error(ErrorKind::kUsage, "dimensions: expected 1 to 3, found 4",
               [&] { (void)shortened(vector, 4); });
}

TEST(TextVectors, NameTheTextThatIsWrong) {
  Rows rows;
  const std::vector<std::vector<TokenId>> empty{{1}, {}};
  expect_error(ErrorKind::kUsage, "text 1: expected 1 to 200 tokens",
               [&] { (void)text_vectors(rows, kWidth, Pooling::kMean, empty); });
  const std::vector<std::vector<TokenId>> large{std::vector<TokenId>(201)};
  expect_error(ErrorKind::kUsage, "text 0: expected 1 to 200 tokens, which is the context",
               [&] { (void)text_vectors(rows, kWidth, Pooling::kMean, large); });
}

class Poolings : public WithFolder {
 protected:
  [[nodiscard]] Pooling gguf(std::int32_t type) const {
    formats::GgufKeys keys;
    keys.set("general.architecture", "qwen3").set("qwen3.pooling_type", type);
    const std::filesystem::path file = path("model.gguf");
    formats::write_gguf(file, keys, {});
    return pooling_of(file);
  }
  [[nodiscard]] Pooling folder_with(const std::string& config) const {
    std::filesystem::create_directories(path("1_Pooling"));
    std::ofstream(path("1_Pooling/config.json")) << config;
    return pooling_of(path(""));
  }
};

TEST_F(Poolings, AreThoseOfTheFiles) {
  EXPECT_EQ(pooling_of(path("")), Pooling::kMean) << "nothing says another";
  EXPECT_EQ(gguf(0), Pooling::kMean);
  EXPECT_EQ(gguf(1), Pooling::kMean);
  EXPECT_EQ(gguf(2), Pooling::kFirst);
  EXPECT_EQ(gguf(3), Pooling::kLast);
  expect_error(ErrorKind::kUnsupported, "qwen3.pooling_type: expected 1 (mean)",
               [&] { (void)gguf(4); });
  EXPECT_EQ(folder_with(R"({"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false})"),
            Pooling::kLast);
  EXPECT_EQ(folder_with(R"({"pooling_mode_cls_token": true})"), Pooling::kFirst);
  EXPECT_EQ(folder_with(R"({"pooling_mode_mean_tokens": true})"), Pooling::kMean);
  expect_error(ErrorKind::kUnsupported, "as pooling",
               [&] { (void)folder_with(R"({"pooling_mode_max_tokens": true})"); });
  expect_error(ErrorKind::kFormat, "expected an object", [&] { (void)folder_with("[1"); });
}

}  // namespace
}  // namespace halftone::lm
