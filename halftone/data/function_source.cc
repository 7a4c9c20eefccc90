// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/function_source.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/data/npy_dataset.h"

namespace halftone::data {
namespace {

class DenseSource : public SampleSource {
 public:
  explicit DenseSource(DenseSamples samples) : samples_(std::move(samples)) {}

  void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const override {
    for_each_sample(first, count, dst, [&](auto src, auto sample) {
      to_scaled_floats(samples_.type, src, samples_.scale, sample);
    });
  }
  void read_integers(std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const override {
    for_each_sample(first, count, dst,
                    [&](auto src, auto sample) { to_integers(samples_.type, src, sample); });
  }

 private:
  template <typename T, typename Convert>
  void for_each_sample(std::size_t first, std::size_t count, std::span<T> dst,
                       Convert convert) const {
    const std::size_t elements = samples_.sample_elements;
    HALFTONE_ASSERT(dst.size() == count * elements);
    for (std::size_t i = 0; i < count; ++i) {
      const auto src = samples_.data.bytes.subspan((first + i) * samples_.stride_bytes,
                                                   elements * size_bytes(samples_.type));
      convert(src, dst.subspan(i * elements, elements));
    }
  }

  DenseSamples samples_;
};

class FunctionSource : public SampleSource {
 public:
  FunctionSource(SampleReader function, std::size_t sample_elements, double scale)
      : function_(std::move(function)), sample_elements_(sample_elements), scale_(scale) {}

  void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const override {
    if (function_.type == Scalar::kFloat32) return read(first, count, dst.data());
    to_scaled_floats(function_.type, elements(first, count), scale_, dst);
  }
  void read_integers(std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const override {
    to_integers(function_.type, elements(first, count), dst);
  }

 private:
  void read(std::size_t first, std::size_t count, void* elements) const {
    const std::lock_guard lock(mutex_);
    function_.read(first, count, elements);
  }
  [[nodiscard]] std::vector<std::byte> elements(std::size_t first, std::size_t count) const {
    std::vector<std::byte> bytes(count * sample_elements_ * size_bytes(function_.type));
    read(first, count, bytes.data());
    return bytes;
  }

  SampleReader function_;
  std::size_t sample_elements_;
  double scale_;
  mutable std::mutex mutex_;  ///< held while the function runs
};

}  // namespace

std::unique_ptr<SampleSource> make_dense_source(DenseSamples samples) {
  return std::make_unique<DenseSource>(std::move(samples));
}

void to_scaled_floats(Scalar type, std::span<const std::byte> src, double scale,
                      std::span<float> dst) {
  if (type != Scalar::kUInt8) return to_floats(type, src, dst);
  HALFTONE_ASSERT(src.size() == dst.size());
  std::array<float, 256> table;
  for (std::size_t i = 0; i < 256; ++i) {
    table[i] = static_cast<float>(static_cast<double>(i) * scale);
  }
  for (std::size_t i = 0; i < dst.size(); ++i) dst[i] = table[std::to_integer<std::size_t>(src[i])];
}

Dataset dataset_from_functions(const std::string& name, std::size_t num_samples,
                               std::vector<SampleReader> functions,
                               std::vector<std::int64_t> labels, const DatasetOptions& options) {
  check_options(options);
  if (functions.empty()) fail(ErrorKind::kUsage, name + ": expected a function, found none");
  std::size_t num_named = 0;
  std::vector<DatasetInput> inputs;
  for (SampleReader& function : functions) {
    if (!function.read) fail(ErrorKind::kUsage, name + ": expected a function, found an empty one");
    DatasetInput input;
    input.is_named = !function.input.empty();
    num_named += input.is_named ? 1 : 0;
    input.name = input.is_named ? function.input : "x";
    input.shape = image_shape(function.extents);
    input.type = function.type;
    input.source = std::make_shared<FunctionSource>(std::move(function), input.shape.num_elements(),
                                                    options.scale);
    inputs.push_back(std::move(input));
  }
  check_names(name, num_named, inputs.size());
  return {name, num_samples, std::move(inputs), std::move(labels), options.limit};
}

}  // namespace halftone::data
