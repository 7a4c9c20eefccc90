// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/bell_scale.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/view.h"
#include "halftone/kernels/fit/fit_group.h"

namespace halftone::compress {
namespace {

/// Bell-shaped numbers of variance one, by operations that round in one way everywhere.
std::vector<float> bell_shaped(std::size_t count) {
  Random random(1);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    number = static_cast<float>(sum);
  }
  return numbers;
}

/// The squared error of bell-shaped weights [d, samples] with one scale for all.
struct BellError {
  double error = 0;
  double best_scale = 0;  ///< of least squares for the codes at this scale
};

class BellSample {
 public:
  static constexpr std::size_t kSamples = 512;

  explicit BellSample(const kernels::Codewords& codewords)
      : codewords_(codewords),
        d_(codewords.numbers()),
        sample_(bell_shaped(d_ * kSamples)),
        identity_(d_ * d_) {
    for (std::size_t i = 0; i < d_; ++i) identity_[i * d_ + i] = 1;
  }

  [[nodiscard]] BellError at(double scale) const {
    const kernels::CodeMetric metric(identity_, codewords_);
    const std::vector<float> scales(kSamples, static_cast<float>(scale));
    const std::vector<float> offsets(kSamples);
    std::vector<float> values(sample_.size());
    std::vector<float> errors(sample_.size());
    std::vector<std::int32_t> codes(kSamples);
    std::vector<std::int32_t> chosen(kSamples);
    const MatrixView<const float> weights(sample_.data(), d_, kSamples, kSamples);
    kernels::encode_group({&codewords_, metric.gram.data(), metric.norms.data(), identity_.data(),
                           MatrixView<const float>(identity_.data(), d_, d_, d_), weights,
                           MatrixView<const float>(scales.data(), 1, kSamples, kSamples),
                           MatrixView<const float>(offsets.data(), 1, kSamples, kSamples)},
                          {MatrixView<float>(errors.data(), d_, kSamples, kSamples),
                           MatrixView<float>(values.data(), d_, kSamples, kSamples),
                           MatrixView<std::int32_t>(codes.data(), 1, kSamples, kSamples), chosen});
    double error = 0, product = 0, norm = 0;
    for (std::size_t i = 0; i < sample_.size(); ++i) {
      const double x = static_cast<double>(sample_[i]);
      const double v = static_cast<double>(values[i]);
      error += (x - v) * (x - v);
      product += x * v;
      norm += v * v;
    }
    return {error, norm > 0 ? scale * product / norm : scale};
  }

 private:
  const kernels::Codewords& codewords_;
  std::size_t d_;
  std::vector<float> sample_;
  std::vector<float> identity_;
};

}  // namespace

double bell_scale_of(const kernels::Codewords& codewords) {
  double squares = 0;
  const std::size_t numbers = codewords.count() * codewords.numbers();
  for (std::size_t i = 0; i < numbers; ++i) {
    const double c = static_cast<double>(codewords.words()[i]);
    squares += c * c;
  }
  if (squares == 0) return 1;
  const BellSample sample(codewords);
  BellError best{std::numeric_limits<double>::infinity(), 1};
  double scale = 0.5 / std::sqrt(squares / static_cast<double>(numbers));
  constexpr int kSteps = 24;  // of 6 percent, from a half to the double
  for (int i = 0; i <= kSteps; ++i, scale *= 1.06) {
    const BellError found = sample.at(scale);
    if (found.error < best.error) best = found;
  }
  return best.best_scale;
}

}  // namespace halftone::compress
