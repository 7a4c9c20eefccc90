// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5_contents.h"

#include <bit>
#include <string>

#include "halftone/base/error.h"

namespace halftone::data {
namespace {

/// Consumes numbers from the front.
class NumberReader {
 public:
  explicit NumberReader(std::span<const std::uint64_t> numbers) : numbers_(numbers) {}

  [[nodiscard]] std::size_t remaining() const { return numbers_.size(); }
  /// Returns the next number, which must not exceed `max`.
  std::uint64_t next(std::uint64_t max = ~std::uint64_t{0}) {
    if (numbers_.empty() || numbers_.front() > max) {
      fail(ErrorKind::kFormat, "HDF5: expected a number of at most " + std::to_string(max) +
                                   " in the description of a file, found " +
                                   (numbers_.empty() ? "none" : std::to_string(numbers_.front())));
    }
    const std::uint64_t number = numbers_.front();
    numbers_ = numbers_.subspan(1);
    return number;
  }

 private:
  std::span<const std::uint64_t> numbers_;
};

}  // namespace

std::vector<std::uint64_t> encode(const Hdf5Contents& contents) {
  std::vector<std::uint64_t> numbers = {contents.records ? 1U : 0U, contents.num_samples,
                                        contents.inputs.size()};
  for (const Hdf5Contents::Input& input : contents.inputs) {
    numbers.push_back(static_cast<std::uint64_t>(input.type));
    numbers.push_back(input.extents.size());
    numbers.insert(numbers.end(), input.extents.begin(), input.extents.end());
  }
  numbers.push_back(contents.labels.size());
  for (const std::int64_t label : contents.labels) {
    numbers.push_back(std::bit_cast<std::uint64_t>(label));
  }
  return numbers;
}

Hdf5Contents decode(std::span<const std::uint64_t> numbers) {
  constexpr std::size_t kMaxInputs = 1'000;
  constexpr std::size_t kMaxRank = 32;
  NumberReader reader(numbers);
  Hdf5Contents contents;
  contents.records = reader.next(1) != 0;
  contents.num_samples = reader.next();
  contents.inputs.resize(reader.next(kMaxInputs));
  for (Hdf5Contents::Input& input : contents.inputs) {
    input.type = static_cast<Scalar>(reader.next(static_cast<std::uint64_t>(Scalar::kBool)));
    input.extents.resize(reader.next(kMaxRank));
    for (std::size_t& extent : input.extents) extent = reader.next();
  }
  contents.labels.resize(reader.next(reader.remaining()));
  for (std::int64_t& label : contents.labels) label = std::bit_cast<std::int64_t>(reader.next());
  return contents;
}

}  // namespace halftone::data
