// SPDX-License-Identifier: Apache-2.0
// Samples of several data sets as one, grouped by size.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/data/dataset.h"

namespace halftone::data {
namespace {

/// An input of several data sets, one after another.
class JoinedSource : public SampleSource {
 public:
  JoinedSource(std::vector<Dataset> pieces, std::size_t input)
      : pieces_(std::move(pieces)), input_(input) {}

  void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const override {
    read_pieces(first, count, dst,
                [&](const Dataset& piece, std::size_t at, std::size_t samples,
                    std::span<float> to) { piece.read(input_, at, samples, to); });
  }
  void read_integers(std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const override {
    read_pieces(first, count, dst,
                [&](const Dataset& piece, std::size_t at, std::size_t samples,
                    std::span<std::int64_t> to) { piece.read_integers(input_, at, samples, to); });
  }

 private:
  template <typename T, typename Read>
  void read_pieces(std::size_t first, std::size_t count, std::span<T> dst, const Read& read) const {
    const std::size_t elements = count == 0 ? 0 : dst.size() / count;
    for (const Dataset& piece : pieces_) {
      const std::size_t size = piece.size();
      if (first < size && count > 0) {
        const std::size_t samples = std::min(count, size - first);
        read(piece, first, samples, dst.first(samples * elements));
        dst = dst.subspan(samples * elements);
        count -= samples;
        first = 0;
      } else {
        first -= std::min(first, size);
      }
    }
  }

  std::vector<Dataset> pieces_;
  std::size_t input_;
};

/// Pieces of one size, and the number of the first sample of each.
struct Group {
  std::vector<Dataset> pieces;
  std::vector<std::size_t> firsts;

  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for (const Dataset& piece : pieces) count += piece.size();
    return count;
  }
};

bool have_same_size(const Dataset& a, const Dataset& b) {
  return std::ranges::equal(
      a.inputs(), b.inputs(), {}, [](const DatasetInput& input) { return input.shape.extents; },
      [](const DatasetInput& input) { return input.shape.extents; });
}

/// @throws Error kFormat unless two pieces differ in nothing but sizes
void check_alike(const std::string& name, const Dataset& first, const Dataset& piece) {
  const bool same = std::ranges::equal(
      first.inputs(), piece.inputs(), [](const DatasetInput& a, const DatasetInput& b) {
        return a.name == b.name && a.is_named == b.is_named && a.type == b.type;
      });
  if (!same) {
    fail(ErrorKind::kFormat, name + ": expected samples of the same inputs and types as in " +
                                 first.name() + ", found others in " + piece.name());
  }
  if (first.has_labels() != piece.has_labels()) {
    fail(ErrorKind::kFormat, name +
                                 ": expected labels for all samples or for none, found them in " +
                                 (first.has_labels() ? first : piece).name() + " but not in " +
                                 (first.has_labels() ? piece : first).name());
  }
}

std::vector<Group> groups_of(const std::string& name, std::span<const Dataset> pieces,
                             std::size_t limit) {
  std::vector<Group> groups;
  std::size_t count = 0;
  for (const Dataset& piece : pieces) {
    check_alike(name, pieces.front(), piece);
    if (count == limit) break;
    const auto same = std::ranges::find_if(
        groups, [&](const Group& group) { return have_same_size(group.pieces.front(), piece); });
    Group& group = same == groups.end() ? groups.emplace_back() : *same;
    group.pieces.push_back(piece.first(limit - count).with_gaps());  // the whole looks after them
    group.firsts.push_back(count);
    count += group.pieces.back().size();
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &Group::size);
  return groups;
}

}  // namespace

Dataset Dataset::joined(const std::string& name, std::span<const Dataset> pieces,
                        std::optional<std::size_t> limit) {
  if (pieces.empty()) fail(ErrorKind::kUsage, name + ": expected samples, found none");
  if (limit == std::size_t{0}) fail(ErrorKind::kUsage, "limit: expected at least 1, found 0");
  std::vector<Dataset> parts;
  for (const Group& group : groups_of(name, pieces, limit.value_or(SIZE_MAX))) {
    Dataset part = group.pieces.front();
    std::vector<std::int64_t> labels;
    std::vector<std::size_t> numbers;
    for (std::size_t p = 0; p < group.pieces.size(); ++p) {
      for (std::size_t i = 0; i < group.pieces[p].size(); ++i) {
        numbers.push_back(group.firsts[p] + i);
        if (part.has_labels()) labels.push_back(group.pieces[p].label(i));
      }
    }
    std::vector<DatasetInput> inputs(part.inputs().begin(), part.inputs().end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].source = std::make_shared<JoinedSource>(group.pieces, i);
    }
    part = Dataset(name, numbers.size(), std::move(inputs), std::move(labels), std::nullopt);
    part.numbers_ = std::move(numbers);
    parts.push_back(std::move(part));
  }
  const Dataset whole = parts.front();
  return of_parts(whole, std::move(parts));
}

Dataset Dataset::of_parts(const Dataset& whole, std::vector<Dataset> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  Dataset result = whole;
  result.size_ = 0;
  result.labels_.clear();
  result.inputs_ = parts.front().inputs_;
  for (const Dataset& part : parts) {
    result.size_ += part.size_;
    result.labels_.insert(result.labels_.end(), part.labels_.begin(), part.labels_.end());
  }
  result.origins_.clear();
  result.numbers_.clear();
  result.parts_ = std::move(parts);
  return result;
}

}  // namespace halftone::data
