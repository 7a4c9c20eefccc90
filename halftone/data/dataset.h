// SPDX-License-Identifier: Apache-2.0
// Samples for calibration and evaluation, read a few at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/data/scalar.h"

namespace halftone::data {

/// What the extents of a sample mean, as far as known. Extents of 1 do not count.
enum class SampleLayout {
  kPlain,  ///< nothing known: elements have an order but no channels
  kChw,    ///< channels, height, width
  kHwc,    ///< height, width, channels
};

/// The extents of one sample, without the batch.
struct SampleShape {
  std::vector<std::size_t> extents;
  SampleLayout layout = SampleLayout::kPlain;

  /// The product of the extents.
  [[nodiscard]] std::size_t num_elements() const;
  /// "[3, 32, 32]"
  [[nodiscard]] std::string text() const;
};

/// The shape with the layout its extents suggest: three extents of which either the first or the
/// last is at most 4 are taken for CHW or HWC; anything else is plain.
SampleShape image_shape(std::vector<std::size_t> extents);

/// How to get from one sample shape to another that holds the same elements.
struct Adaptation {
  std::size_t rows = 1;  ///< the sample as a matrix [rows, cols] ...
  std::size_t cols = 1;
  bool transposed = false;  ///< ... is transposed (CHW <-> HWC) or kept
};

/// Finds the adaptation. Extents of 1 come and go; any shape flattens in its own order; a shape of
/// known layout becomes the other layout, if that is what `want` says or the only way it fits.
/// @throws Error kShape if the shapes do not fit
Adaptation adapt(const SampleShape& have, const SampleShape& want);

/// Where the samples of one input come from. Reading is safe from several threads.
class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  /// Samples [first, first + count), one after another.
  /// @pre dst holds exactly as many; the range is in the data set
  virtual void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const = 0;
  /// @throws Error kFormat if the elements are floating point
  virtual void read_integers(std::size_t first, std::size_t count,
                             std::span<std::int64_t> dst) const = 0;
};

/// One input of every sample.
struct DatasetInput {
  std::string name;  ///< "x", or the number of the graph input in ONE's layout
  SampleShape shape;
  Scalar type = Scalar::kFloat32;  ///< as stored; reading converts
  std::unique_ptr<SampleSource> source;
};

/// A number of samples: one or several inputs each, and a label each where known.
class Dataset {
 public:
  /// @param name    where it comes from, for messages
  /// @param labels  one per sample, or none
  /// @param limit   keep only so many samples from the front
  /// @throws Error kFormat if there are no samples, labels are not as many, or a sample is empty or
  ///         has more than 2^28 elements; kUsage if limit is 0
  Dataset(std::string name, std::size_t num_samples, std::vector<DatasetInput> inputs,
          std::vector<std::int64_t> labels, std::optional<std::size_t> limit);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const DatasetInput> inputs() const { return inputs_; }
  [[nodiscard]] bool has_labels() const { return !labels_.empty(); }
  /// @throws Error kUsage if there are no labels or sample >= size()
  [[nodiscard]] std::int64_t label(std::size_t sample) const;

  /// Samples [first, first + count) of an input, each in the shape wanted.
  /// @param dst  [count * want.num_elements()]
  /// @throws Error kShape if dst, range or shape do not fit; kFormat if a number is NaN or
  ///         infinite; kIo and kFormat from the file
  void read(std::size_t input, std::size_t first, std::size_t count, const SampleShape& want,
            std::span<float> dst) const;
  /// The same, each in the shape it has.
  void read(std::size_t input, std::size_t first, std::size_t count, std::span<float> dst) const;
  /// Integers or bools, for inputs that are indices; each in the shape it has.
  /// @throws Error kShape if dst or range do not fit; kFormat if the input is floating point
  void read_integers(std::size_t input, std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const;

 private:
  const DatasetInput& checked_input(std::size_t input, std::size_t first, std::size_t count,
                                    std::size_t dst_size) const;

  std::string name_;
  std::size_t size_;
  std::vector<DatasetInput> inputs_;
  std::vector<std::int64_t> labels_;
};

}  // namespace halftone::data
