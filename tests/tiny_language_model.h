// SPDX-License-Identifier: Apache-2.0
// A tiny language model of random weights, in the files of llama2.c, for tests that know installed
// headers only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace halftone {

/// 40 KiB: 2 blocks of width 16, 260 tokens, a context of 64. Its tokens are <unk>, begin, end, the
/// 256 bytes and the space. kWideSizes has rows for every type of few bits that has blocks of 64.
class TinyLanguageModel {
 public:
  static constexpr std::size_t kVocabulary = 260;
  static constexpr std::size_t kContext = 64;
  static constexpr std::int32_t kBegin = 1;
  static constexpr std::int32_t kEnd = 2;
  static constexpr std::int32_t kSpace = 259;
  static constexpr std::int32_t token_of(char c) {
    return 3 + static_cast<std::int32_t>(static_cast<unsigned char>(c));
  }

  struct Sizes {
    std::int32_t width = 16;
    std::int32_t inner = 32;
  };
  static constexpr Sizes kWideSizes{64, 128};

  /// @param path  of the model; the tokenizer is beside it
  explicit TinyLanguageModel(std::string path) : TinyLanguageModel(std::move(path), Sizes{}) {}
  TinyLanguageModel(std::string path, const Sizes& sizes) : path_(std::move(path)), sizes_(sizes) {
    write_model();
    write_tokenizer();
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string tokenizer() const { return path_ + ".tokenizer"; }

 private:
  static constexpr std::size_t kBlocks = 2;
  static constexpr std::size_t kHeads = 4;
  static constexpr std::size_t kKvHeads = 2;

  template <typename T>
  static void write(std::ofstream& file, T value) {
    std::array<char, sizeof(T)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    file.write(bytes.data(), bytes.size());
  }
  /// Numbers around `mean`, the same for the same calls.
  void write_floats(std::ofstream& file, std::size_t count, float mean, float spread) {
    for (std::size_t i = 0; i < count; ++i) {
      seed_ = seed_ * 1664525U + 1013904223U;
      const float unit = static_cast<float>(seed_ >> 8U) / static_cast<float>(1U << 23U) - 1;
      write(file, mean + spread * unit);
    }
  }
  void write_model() {
    std::ofstream file(path_, std::ios::binary);
    for (const std::int32_t number :
         {sizes_.width, sizes_.inner, static_cast<std::int32_t>(kBlocks),
          static_cast<std::int32_t>(kHeads), static_cast<std::int32_t>(kKvHeads),
          static_cast<std::int32_t>(kVocabulary), static_cast<std::int32_t>(kContext)}) {
      write(file, number);
    }
    const auto width = static_cast<std::size_t>(sizes_.width);
    const std::size_t matrix = width * width;
    const std::size_t kv_matrix = matrix / kHeads * kKvHeads;
    write_floats(file, kVocabulary * width, 0, 1);
    write_floats(file, kBlocks * width, 1, 0.1F);  // norms
    write_floats(file, kBlocks * (2 * matrix + 2 * kv_matrix), 0, 0.4F);
    write_floats(file, kBlocks * width, 1, 0.1F);
    write_floats(file, 3 * kBlocks * width * static_cast<std::size_t>(sizes_.inner), 0, 0.4F);
    write_floats(file, width, 1, 0.1F);
    write_floats(file, kContext * width / kHeads, 0, 1);  // which readers leave out
  }
  static void write_token(std::ofstream& file, std::string_view text, float score) {
    write(file, score);
    write(file, static_cast<std::int32_t>(text.size()));
    file << text;
  }
  void write_tokenizer() const {
    std::ofstream file(tokenizer(), std::ios::binary);
    write(file, std::int32_t{8});  // bytes of the longest
    write_token(file, "<unk>", 0);
    write_token(file, "\n<s>\n", 0);
    write_token(file, "\n</s>\n", 0);
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::array<char, 6> name = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
      write_token(file, {name.data(), name.size()}, 0);
    }
    write_token(file, " ", -1);
  }

  std::string path_;
  Sizes sizes_;
  std::uint32_t seed_ = 1;
};

/// Writes lines of text to fit models to: 4,000 bytes.
/// @return  the path
inline std::string write_tiny_text(std::string path) {
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 100; ++i) {
    file << (1000 + i * i % 97)
         << (i % 3 == 0 ? " foxes ran away, then came" : " birds flew home, and so on")
         << " by noon.\n";
  }
  return path;
}

}  // namespace halftone
