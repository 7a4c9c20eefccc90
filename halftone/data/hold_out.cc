// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hold_out.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::data {
namespace {

/// Some samples of another source.
class PickedSource : public SampleSource {
 public:
  PickedSource(std::shared_ptr<const SampleSource> all, std::vector<std::size_t> picked)
      : all_(std::move(all)), picked_(std::move(picked)) {}

  void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const override {
    read_runs(first, count, dst, [&](std::size_t at, std::size_t samples, std::span<float> part) {
      all_->read_floats(at, samples, part);
    });
  }
  void read_integers(std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const override {
    read_runs(first, count, dst,
              [&](std::size_t at, std::size_t samples, std::span<std::int64_t> part) {
                all_->read_integers(at, samples, part);
              });
  }

 private:
  /// Samples that follow each other are read together.
  template <typename T, typename Read>
  void read_runs(std::size_t first, std::size_t count, std::span<T> dst, const Read& read) const {
    const std::size_t elements = count == 0 ? 0 : dst.size() / count;
    for (std::size_t i = 0; i < count;) {
      std::size_t run = 1;
      while (i + run < count && picked_[first + i + run] == picked_[first + i] + run) ++run;
      read(picked_[first + i], run, dst.subspan(i * elements, run * elements));
      i += run;
    }
  }

  std::shared_ptr<const SampleSource> all_;
  std::vector<std::size_t> picked_;
};

Dataset pick(const Dataset& samples, const std::vector<std::size_t>& picked) {
  if (samples.parts().size() > 1) return samples.only(picked);
  std::vector<DatasetInput> inputs(samples.inputs().begin(), samples.inputs().end());
  for (DatasetInput& input : inputs) {
    input.source = std::make_shared<PickedSource>(std::move(input.source), picked);
  }
  std::vector<std::int64_t> labels;
  for (const std::size_t each : picked) {
    if (samples.has_labels()) labels.push_back(samples.label(each));
  }
  return {samples.name(), picked.size(), std::move(inputs), std::move(labels), std::nullopt};
}

}  // namespace

HeldOut hold_out(const Dataset& samples, std::size_t every) {
  if (samples.size() < 2) {
    fail(ErrorKind::kUsage, samples.name() +
                                ": one sample cannot be divided into one to fit and one to judge: "
                                "give more samples, or others to judge by");
  }
  const std::size_t step = std::min(every, samples.size());
  std::vector<std::size_t> fit;
  std::vector<std::size_t> judged;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    (i % step == step - 1 ? judged : fit).push_back(i);
  }
  return {pick(samples, fit), pick(samples, judged)};
}

}  // namespace halftone::data
