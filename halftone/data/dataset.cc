// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::data {
namespace {

constexpr std::size_t kMaxSampleElements = std::size_t{1} << 28;

std::vector<std::size_t> without_ones(const std::vector<std::size_t>& extents) {
  std::vector<std::size_t> kept;
  std::copy_if(extents.begin(), extents.end(), std::back_inserter(kept),
               [](std::size_t extent) { return extent != 1; });
  return kept;
}

/// Checked before any product of the extents is formed.
void check_sample_shape(const SampleShape& shape) {
  std::size_t elements = 1;
  for (const std::size_t extent : shape.extents) {
    if (extent == 0 || elements > kMaxSampleElements / extent) {
      fail(ErrorKind::kFormat,
           "expected samples of 1 to 2^28 numbers, found shape " + shape.text());
    }
    elements *= extent;
  }
}

/// [rows, cols] -> [cols, rows], in place by way of `scratch`.
void transpose(std::span<float> sample, const Adaptation& how, std::vector<float>& scratch) {
  scratch.assign(sample.begin(), sample.end());
  for (std::size_t r = 0; r < how.rows; ++r) {
    for (std::size_t c = 0; c < how.cols; ++c) {
      sample[c * how.rows + r] = scratch[r * how.cols + c];
    }
  }
}

void check_all_finite(std::span<const float> sample, std::size_t index) {
  for (const float x : sample) {
    if (std::isfinite(x)) continue;
    fail(ErrorKind::kFormat, "sample " + std::to_string(index) +
                                 ": expected finite numbers, found " +
                                 (std::isnan(x) ? "NaN" : "infinity"));
  }
}

/// The samples that come first in the data set that was opened, ascending.
std::vector<std::size_t> first_by_origin(const Dataset& data, std::size_t count) {
  std::vector<std::size_t> samples(data.size());
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  std::ranges::stable_sort(samples, {}, [&](std::size_t i) { return data.origin(i); });
  samples.resize(std::min(samples.size(), count));
  std::ranges::sort(samples);
  return samples;
}

}  // namespace

std::size_t SampleShape::num_elements() const {
  std::size_t elements = 1;
  for (const std::size_t extent : extents) elements *= extent;
  return elements;
}

std::string SampleShape::text() const {
  std::string result = "[";
  for (const std::size_t extent : extents) {
    result += (result.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return result + "]";
}

SampleShape image_shape(std::vector<std::size_t> extents) {
  constexpr std::size_t kMaxChannels = 4;
  SampleShape shape{std::move(extents), SampleLayout::kPlain};
  if (shape.extents.size() != 3) return shape;
  const bool front = shape.extents[0] <= kMaxChannels;
  const bool back = shape.extents[2] <= kMaxChannels;
  if (front != back) shape.layout = front ? SampleLayout::kChw : SampleLayout::kHwc;
  return shape;
}

Adaptation adapt(const SampleShape& have, const SampleShape& want) {
  const Adaptation keep{1, have.num_elements(), false};
  const std::vector<std::size_t> from = without_ones(have.extents);
  const std::vector<std::size_t> to = without_ones(want.extents);
  const bool same_layout = have.layout == want.layout || have.layout == SampleLayout::kPlain ||
                           want.layout == SampleLayout::kPlain;
  const bool flat =
      (from.size() <= 1 || to.size() <= 1) && have.num_elements() == want.num_elements();
  if (flat || (same_layout && from == to)) return keep;
  if (from.size() == 3 && to.size() == 3) {
    const bool moves = have.layout != SampleLayout::kPlain && have.layout != want.layout;
    // Channels go from the front to the back, or from the back to the front.
    if (moves && have.layout == SampleLayout::kChw &&
        to == std::vector{from[1], from[2], from[0]}) {
      return {from[0], from[1] * from[2], true};
    }
    if (moves && have.layout == SampleLayout::kHwc &&
        to == std::vector{from[2], from[0], from[1]}) {
      return {from[0] * from[1], from[2], true};
    }
  }
  std::string advice;
  if (from.size() == 3 && to == std::vector{from[2], from[0], from[1]}) {
    advice = ": channels last where channels first are expected; transpose the samples";
  } else if (from.size() == 3 && to == std::vector{from[1], from[2], from[0]}) {
    advice = ": channels first where channels last are expected; transpose the samples";
  }
  fail(ErrorKind::kShape, "samples of shape " + have.text() + " do not fit the expected shape " +
                              want.text() + advice);
}

Dataset::Dataset(std::string name, std::size_t num_samples, std::vector<DatasetInput> inputs,
                 std::vector<std::int64_t> labels, std::optional<std::size_t> limit)
    : name_(std::move(name)),
      size_(num_samples),
      inputs_(std::move(inputs)),
      labels_(std::move(labels)) {
  if (limit == std::size_t{0}) fail(ErrorKind::kUsage, "limit: expected at least 1, found 0");
  with_context(name_, [&] {
    if (size_ == 0 || inputs_.empty()) fail(ErrorKind::kFormat, "expected samples, found none");
    if (!labels_.empty() && labels_.size() != size_) {
      fail(ErrorKind::kFormat, "expected as many labels as samples (" + std::to_string(size_) +
                                   "), found " + std::to_string(labels_.size()));
    }
    for (const DatasetInput& input : inputs_) check_sample_shape(input.shape);
  });
  size_ = std::min(size_, limit.value_or(size_));
  if (!labels_.empty()) labels_.resize(size_);
}

Dataset Dataset::first(std::size_t count) const {
  if (count == 0) fail(ErrorKind::kUsage, "limit: expected at least 1, found 0");
  if (!parts_.empty()) return only(first_by_origin(*this, count));
  Dataset part = *this;
  part.size_ = std::min(size_, count);
  if (has_labels()) part.labels_.resize(part.size_);
  if (!origins_.empty()) part.origins_.resize(part.size_);
  return part;
}

Dataset Dataset::only(std::span<const std::size_t> samples) const {
  if (samples.empty()) fail(ErrorKind::kUsage, name_ + ": expected samples to keep, found none");
  if (!parts_.empty()) {
    std::vector<Dataset> kept;
    std::size_t begin = 0;
    for (const Dataset& part : parts_) {
      std::vector<std::size_t> own;
      for (const std::size_t sample : samples) {
        if (sample >= begin && sample < begin + part.size()) own.push_back(sample - begin);
      }
      if (!own.empty()) kept.push_back(part.only(own));
      begin += part.size();
    }
    return of_parts(*this, std::move(kept));
  }
  Dataset part = *this;
  part.size_ = samples.size();
  part.labels_.clear();
  part.origins_.clear();
  for (const std::size_t sample : samples) {
    part.origins_.push_back(index_in_source(sample));
    if (has_labels()) part.labels_.push_back(label(sample));
  }
  return part;
}

Dataset Dataset::with_gaps() const {
  Dataset same = *this;
  same.has_gaps_ = true;
  for (Dataset& part : same.parts_) part.has_gaps_ = true;
  return same;
}

std::size_t Dataset::origin(std::size_t sample) const {
  if (!parts_.empty()) {
    const auto [part, index] = part_at(sample);
    return part->origin(index);
  }
  const std::size_t index = index_in_source(sample);
  return numbers_.empty() ? index : numbers_[index];
}

std::pair<const Dataset*, std::size_t> Dataset::part_at(std::size_t sample) const {
  for (const Dataset& part : parts_) {
    if (sample < part.size()) return {&part, sample};
    sample -= part.size();
  }
  fail(ErrorKind::kShape, name_ + ": expected a sample below " + std::to_string(size_) +
                              ", found " + std::to_string(size_ + sample));
}

void Dataset::check_finite(std::size_t sample) const {
  if (!parts_.empty()) {
    const auto [part, index] = part_at(sample);
    return part->check_finite(index);
  }
  Dataset strict = *this;
  strict.has_gaps_ = false;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<float> values(inputs_[i].shape.num_elements());
    strict.read(i, sample, 1, values);
  }
}

template <typename Read>
void Dataset::read_runs(std::size_t first, std::size_t count, std::size_t elements,
                        const Read& read) const {
  for (std::size_t done = 0; done < count;) {
    const std::size_t begin = index_in_source(first + done);
    std::size_t run = origins_.empty() ? count : 1;
    while (done + run < count && index_in_source(first + done + run) == begin + run) ++run;
    read(begin, run, done * elements);
    done += run;
  }
}

std::int64_t Dataset::label(std::size_t sample) const {
  if (labels_.empty()) fail(ErrorKind::kUsage, name_ + ": expected labels, found none");
  if (sample >= size_) {
    fail(ErrorKind::kUsage, name_ + ": label " + std::to_string(sample) + " of " +
                                std::to_string(size_) + " does not exist");
  }
  return labels_[sample];
}

const DatasetInput& Dataset::checked_input(std::size_t input, std::size_t first, std::size_t count,
                                           std::size_t dst_size) const {
  if (input >= inputs_.size() || first > size_ || count > size_ - first) {
    fail(ErrorKind::kShape, "samples " + std::to_string(first) + " and " + std::to_string(count) +
                                " more of input " + std::to_string(input) + ": found " +
                                std::to_string(size_) + " samples of " +
                                std::to_string(inputs_.size()) + " inputs");
  }
  const std::size_t elements = inputs_[input].shape.num_elements();
  if (dst_size % elements != 0 || dst_size / elements != count) {
    fail(ErrorKind::kShape, "expected room for " + std::to_string(count) + " samples of " +
                                std::to_string(elements) + " numbers, found " +
                                std::to_string(dst_size));
  }
  return inputs_[input];
}

void Dataset::adapt_samples(const DatasetInput& from, std::size_t first, const SampleShape& want,
                            std::span<float> samples) const {
  const Adaptation how = adapt(from.shape, want);
  const std::size_t elements = from.shape.num_elements();
  std::vector<float> scratch;
  for (std::size_t i = 0; i < samples.size() / elements; ++i) {
    const auto sample = samples.subspan(i * elements, elements);
    if (!has_gaps_) check_all_finite(sample, origin(first + i));
    if (how.transposed) transpose(sample, how, scratch);
  }
}

void Dataset::read(std::size_t input, std::size_t first, std::size_t count, const SampleShape& want,
                   std::span<float> dst) const {
  if (!parts_.empty()) {
    const auto [part, index] = part_at(first);
    return part->read(input, index, count, want, dst);
  }
  with_context(name_, [&] {
    const DatasetInput& from = checked_input(input, first, count, dst.size());
    const std::size_t elements = from.shape.num_elements();
    adapt(from.shape, want);  // fails before the work
    read_runs(first, count, elements, [&](std::size_t begin, std::size_t run, std::size_t at) {
      from.source->read_floats(begin, run, dst.subspan(at, run * elements));
    });
    adapt_samples(from, first, want, dst);
  });
}

void Dataset::read_as_stored(std::size_t input, std::size_t first, std::size_t count,
                             const SampleShape& want, std::span<float> dst) const {
  if (!parts_.empty()) {
    const auto [part, index] = part_at(first);
    return part->read_as_stored(input, index, count, want, dst);
  }
  if (input >= inputs_.size() || !is_integer(inputs_[input].type)) {
    return read(input, first, count, want, dst);
  }
  std::vector<std::int64_t> stored(dst.size());
  read_integers(input, first, count, stored);
  std::ranges::transform(stored, dst.begin(), [](std::int64_t x) { return static_cast<float>(x); });
  with_context(name_, [&] { adapt_samples(inputs_[input], first, want, dst); });
}

void Dataset::read(std::size_t input, std::size_t first, std::size_t count,
                   std::span<float> dst) const {
  if (!parts_.empty()) {
    const auto [part, index] = part_at(first);
    return part->read(input, index, count, dst);
  }
  const SampleShape as_stored = input < inputs_.size() ? inputs_[input].shape : SampleShape{};
  read(input, first, count, as_stored, dst);
}

void Dataset::read_integers(std::size_t input, std::size_t first, std::size_t count,
                            std::span<std::int64_t> dst) const {
  if (!parts_.empty()) {
    const auto [part, index] = part_at(first);
    return part->read_integers(input, index, count, dst);
  }
  with_context(name_, [&] {
    const DatasetInput& from = checked_input(input, first, count, dst.size());
    const std::size_t elements = from.shape.num_elements();
    read_runs(first, count, elements, [&](std::size_t begin, std::size_t run, std::size_t at) {
      from.source->read_integers(begin, run, dst.subspan(at, run * elements));
    });
  });
}

}  // namespace halftone::data
