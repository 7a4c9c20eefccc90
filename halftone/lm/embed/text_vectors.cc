// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/embed/text_vectors.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"
#include "halftone/formats/gguf/gguf_file.h"

namespace halftone::lm {
namespace {

/// Tokens of a run: each gives a row as long as logits.
constexpr std::size_t kRunTokens = 64;

Pooling gguf_pooling(const std::filesystem::path& path) {
  const auto file = formats::GgufFile::open(path);
  const auto* architecture = file.find("general.architecture");
  const auto* name =
      architecture == nullptr ? nullptr : std::get_if<std::string_view>(architecture);
  if (name == nullptr) return Pooling::kMean;
  const std::string key = std::string(*name) + ".pooling_type";
  switch (file.integer(key).value_or(0)) {
    case 0:  // none: the choice of the user
    case 1:
      return Pooling::kMean;
    case 2:
      return Pooling::kFirst;
    case 3:
      return Pooling::kLast;
    default:
      fail(ErrorKind::kUnsupported, path.string() + ": " + key +
                                        ": expected 1 (mean), 2 (first token) or 3 (last token), "
                                        "found " +
                                        std::to_string(file.integer(key).value_or(0)));
  }
}

Pooling folder_pooling(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  const auto config = nlohmann::json::parse(
      reinterpret_cast<const char*>(bytes.data()),
      reinterpret_cast<const char*>(bytes.data()) + bytes.size(), nullptr, false);
  if (!config.is_object()) fail(ErrorKind::kFormat, file.string() + ": expected an object in JSON");
  std::vector<std::string> modes;
  for (const auto& [key, value] : config.items()) {
    if (key.starts_with("pooling_mode_") && value == true) modes.push_back(key.substr(13));
  }
  if (modes == std::vector<std::string>{"mean_tokens"}) return Pooling::kMean;
  if (modes == std::vector<std::string>{"cls_token"}) return Pooling::kFirst;
  if (modes == std::vector<std::string>{"lasttoken"}) return Pooling::kLast;
  fail(ErrorKind::kUnsupported,
       file.string() + ": expected the mean, the first or the last token as pooling");
}

/// The sum of the rows of a text that count.
class Sum {
 public:
  Sum(Pooling pooling, std::size_t width, std::size_t tokens)
      : pooling_(pooling), tokens_(tokens), sums_(width) {}

  void add(std::span<const float> row) {
    const std::size_t place = next_++;
    const bool counts = pooling_ == Pooling::kMean ||
                        (pooling_ == Pooling::kFirst ? place == 0 : place + 1 == tokens_);
    if (!counts) return;
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += double{row[i]};
  }
  /// Of length 1, so that the number of rows does not matter.
  [[nodiscard]] std::vector<float> vector() const {
    double squares = 0;
    for (const double x : sums_) squares += x * x;
    const double length = squares == 0 ? 1 : std::sqrt(squares);
    std::vector<float> values(sums_.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(sums_[i] / length);
    }
    return values;
  }

 private:
  Pooling pooling_;
  std::size_t tokens_;
  std::size_t next_ = 0;
  std::vector<double> sums_;
};

/// Texts on the sequences of a model, a run at a time.
class Reader {
 public:
  Reader(TokenModel& rows, std::size_t width, std::span<const std::vector<TokenId>> texts,
         std::vector<Sum>& sums)
      : rows_(rows), width_(width), texts_(texts), sums_(sums), running_(rows.sequences()) {}

  void read_all() {
    while (fill()) run();
  }

 private:
  struct Running {
    std::size_t text = 0;
    std::size_t done = 0;
    bool is_used = false;
  };

  /// Gives sequences without a text the next ones. @return whether there is any
  bool fill() {
    bool has_any = false;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (!running_[i].is_used && next_ < texts_.size()) {
        rows_.truncate(i, 0);
        running_[i] = {next_++, 0, true};
      }
      has_any = has_any || running_[i].is_used;
    }
    return has_any;
  }
  void run() {
    std::vector<SequencePart> parts;
    std::size_t room = kRunTokens;
    for (std::size_t i = 0; i < running_.size() && room > 0; ++i) {
      if (!running_[i].is_used) continue;
      const std::span<const TokenId> rest =
          std::span(texts_[running_[i].text]).subspan(running_[i].done);
      const std::size_t count = std::min(rest.size(), room);
      parts.push_back({i, rest.first(count), WantedLogits::kAll});
      room -= count;
    }
    const std::vector<float> found = rows_.append_each(parts);
    std::span<const float> left = found;
    for (const SequencePart& part : parts) {
      Running& running = running_[part.sequence];
      for (std::size_t i = 0; i < part.tokens.size(); ++i) {
        sums_[running.text].add(left.first(width_));
        left = left.subspan(rows_.vocabulary());
      }
      running.done += part.tokens.size();
      running.is_used = running.done < texts_[running.text].size();
    }
  }

  TokenModel& rows_;
  std::size_t width_;
  std::span<const std::vector<TokenId>> texts_;
  std::vector<Sum>& sums_;
  std::vector<Running> running_;
  std::size_t next_ = 0;
};

}  // namespace

Pooling pooling_of(const std::filesystem::path& path) {
  if (path.extension() == ".gguf") return gguf_pooling(path);
  const std::filesystem::path file = path / "1_Pooling" / "config.json";
  return is_folder(path) && path_exists(file) ? folder_pooling(file) : Pooling::kMean;
}

std::vector<std::vector<float>> text_vectors(TokenModel& rows, std::size_t width, Pooling pooling,
                                             std::span<const std::vector<TokenId>> texts) {
  std::vector<Sum> sums;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || texts[i].size() > rows.context()) {
      fail(ErrorKind::kUsage,
           "text " + std::to_string(i) + ": expected 1 to " + std::to_string(rows.context()) +
               " tokens, which is the context, found " + std::to_string(texts[i].size()),
           Hint::kContext);
    }
    sums.emplace_back(pooling, width, texts[i].size());
  }
  Reader(rows, width, texts, sums).read_all();
  std::vector<std::vector<float>> vectors;
  for (const Sum& sum : sums) vectors.push_back(sum.vector());
  return vectors;
}

std::vector<float> shortened(std::span<const float> vector, std::size_t count) {
  if (count == 0 || count == vector.size()) return {vector.begin(), vector.end()};
  if (count > vector.size()) {
    fail(ErrorKind::kUsage, "dimensions: expected 1 to " + std::to_string(vector.size()) +
                                ", found " + std::to_string(count));
  }
  Sum sum(Pooling::kMean, count, 1);
  sum.add(vector.first(count));
  return sum.vector();
}

}  // namespace halftone::lm
