// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/dense_source.h"

#include <array>
#include <utility>

#include "halftone/base/error.h"

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

}  // namespace halftone::data
