// SPDX-License-Identifier: Apache-2.0
// Samples for calibration and evaluation, read a few at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/data/scalar.h"

namespace halftone::data {

/// Meaning of the extents of a sample. Extents of 1 are ignored.
enum class SampleLayout {
  kPlain,  ///< unknown: elements have an order but no channels
  kChw,    ///< channels, height, width
  kHwc,    ///< height, width, channels
};

/// Extents of one sample, without the batch axis.
struct SampleShape {
  std::vector<std::size_t> extents;
  SampleLayout layout = SampleLayout::kPlain;

  /// Product of the extents.
  [[nodiscard]] std::size_t num_elements() const;
  /// "[3, 32, 32]"
  [[nodiscard]] std::string text() const;
};

/// Shape with the layout that its extents suggest. Three extents are CHW if only the first is at
/// most 4, and HWC if only the last is; every other shape is plain.
SampleShape image_shape(std::vector<std::size_t> extents);

/// Conversion of a sample from one shape to another with the same elements.
struct Adaptation {
  std::size_t rows = 1;  ///< the sample as a matrix [rows, cols] ...
  std::size_t cols = 1;
  bool transposed = false;  ///< ... is transposed (CHW <-> HWC) or kept
};

/// Finds the conversion from `have` to `want`. Extents of 1 are added and removed freely; any shape
/// can be flattened in its own order. CHW and HWC are converted into each other if `want` has the
/// other layout, or if only that fits.
/// @throws Error kShape if the shapes do not fit
Adaptation adapt(const SampleShape& have, const SampleShape& want);

/// Source of the samples of one input. Thread-safe.
class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  /// Reads samples [first, first + count), one after another.
  /// @pre dst has exactly that many elements; the range is within the data set
  virtual void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const = 0;
  /// @throws Error kFormat if the elements are floating point
  virtual void read_integers(std::size_t first, std::size_t count,
                             std::span<std::int64_t> dst) const = 0;
};

/// One input of every sample.
struct DatasetInput {
  std::string name;  ///< "x", or the index of the graph input in ONE's layout
  SampleShape shape;
  Scalar type = Scalar::kFloat32;              ///< as stored; reading converts
  std::shared_ptr<const SampleSource> source;  ///< shared by the copies of a data set
  bool is_named = false;  ///< whether `name` is that of a network input; else inputs are in order
};

/// Samples with one or more inputs each, and optionally one label each. Copies share the samples.
///
/// Samples may have several sizes: then the data set is a list of parts(), of one size each, and
/// its samples are those of the parts, one part after another. A read stays within a part.
class Dataset {
 public:
  /// @param name    origin of the data set, for messages
  /// @param labels  one per sample, or none
  /// @param limit   keep only the first `limit` samples
  /// @throws Error kFormat if there are no samples, the number of labels differs, or a sample is
  ///         empty or has more than 2^28 elements; kUsage if limit is 0
  Dataset(std::string name, std::size_t num_samples, std::vector<DatasetInput> inputs,
          std::vector<std::int64_t> labels, std::optional<std::size_t> limit);

  /// The samples of several data sets, grouped by their shapes. The largest group comes first,
  /// groups of equal size in the order of their first samples.
  /// @param limit  keep only the first `limit` samples, in the order of the data sets
  /// @throws Error kFormat if their inputs differ in number, name or type, or only some have labels
  ///         or only some names; kUsage if there is none, or limit is 0
  static Dataset joined(const std::string& name, std::span<const Dataset> pieces,
                        std::optional<std::size_t> limit);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// With the shapes of the first part.
  [[nodiscard]] std::span<const DatasetInput> inputs() const { return inputs_; }
  /// The samples of each size; the data set itself if there is one size.
  [[nodiscard]] std::span<const Dataset> parts() const {
    return parts_.empty() ? std::span(this, 1) : std::span<const Dataset>(parts_);
  }
  [[nodiscard]] bool has_labels() const { return !labels_.empty(); }
  /// @throws Error kUsage if there are no labels or sample >= size()
  [[nodiscard]] std::int64_t label(std::size_t sample) const;

  /// The first `count` samples; all if there are fewer. @throws Error kUsage if count is 0
  [[nodiscard]] Dataset first(std::size_t count) const;
  /// Some samples. @param samples  ascending indices of this data set
  /// @throws Error kUsage if there are none
  [[nodiscard]] Dataset only(std::span<const std::size_t> samples) const;
  /// The index of a sample in the data set that was opened, for messages.
  [[nodiscard]] std::size_t origin(std::size_t sample) const;

  /// The same samples, whose values may be NaN or infinite: a reader looks after them.
  [[nodiscard]] Dataset with_gaps() const;
  [[nodiscard]] bool has_gaps() const { return has_gaps_; }
  /// @throws Error kFormat that names the sample if one of its floating-point values is NaN or
  ///         infinite; as read()
  void check_finite(std::size_t sample) const;

  /// Reads samples [first, first + count) of an input, each converted to the shape `want`.
  /// @param dst  [count * want.num_elements()]
  /// @throws Error kShape if dst, range or shape do not fit; kFormat if a value is NaN or infinite
  ///         and the data set is not one with_gaps(); kIo and kFormat from the file
  void read(std::size_t input, std::size_t first, std::size_t count, const SampleShape& want,
            std::span<float> dst) const;
  /// The same, but pixels of uint8 are not multiplied by the factor of the data set: for inputs
  /// that are integers themselves.
  void read_as_stored(std::size_t input, std::size_t first, std::size_t count,
                      const SampleShape& want, std::span<float> dst) const;
  /// The same, each in its stored shape.
  void read(std::size_t input, std::size_t first, std::size_t count, std::span<float> dst) const;
  /// Reads integers or booleans, for inputs that are indices; each in its stored shape.
  /// @throws Error kShape if dst or range do not fit; kFormat if the input is floating point
  void read_integers(std::size_t input, std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const;

 private:
  /// The index of a sample in its source.
  [[nodiscard]] std::size_t index_in_source(std::size_t sample) const {
    return origins_.empty() ? sample : origins_[sample];
  }
  /// Of parts, in their order; those without samples are dropped.
  static Dataset of_parts(const Dataset& whole, std::vector<Dataset> parts);
  /// The part that has a sample, and the index there.
  [[nodiscard]] std::pair<const Dataset*, std::size_t> part_at(std::size_t sample) const;
  const DatasetInput& checked_input(std::size_t input, std::size_t first, std::size_t count,
                                    std::size_t dst_size) const;
  /// Checks floats that were read in the stored shape of an input, and converts them to `want`.
  void adapt_samples(const DatasetInput& from, std::size_t first, const SampleShape& want,
                     std::span<float> samples) const;
  /// Calls read(first in the source, count, index of the first element in dst) for runs of samples
  /// that are neighbours in the source.
  template <typename Read>
  void read_runs(std::size_t first, std::size_t count, std::size_t elements,
                 const Read& read) const;

  std::string name_;
  std::size_t size_;
  std::vector<DatasetInput> inputs_;
  std::vector<std::int64_t> labels_;
  std::vector<std::size_t> origins_;  ///< by sample; empty: samples are where they were
  std::vector<std::size_t> numbers_;  ///< by index in the source, for messages; empty: that index
  std::vector<Dataset> parts_;        ///< empty: samples have one size
  bool has_gaps_ = false;
};

}  // namespace halftone::data
