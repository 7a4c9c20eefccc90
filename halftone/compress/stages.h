// SPDX-License-Identifier: Apache-2.0
// Progress of a job in several stages.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "halftone/base/progress.h"

namespace halftone::compress {

/// Divides a job into stages of equal length, each of which reports its share of the whole.
class Stages {
 public:
  /// `sink` must outlive this.
  Stages(const ProgressSink& sink, std::size_t count) : sink_(sink), count_(count) {}

  /// A sink for the next stage, which maps [0, 1] to the stage's share of the job.
  ProgressSink next(std::string activity) {
    const std::size_t stage = std::min(done_++, count_ - 1);
    if (!sink_) return {};
    return [this, stage, activity = std::move(activity)](double fraction, std::string_view) {
      sink_((static_cast<double>(stage) + fraction) / static_cast<double>(count_), activity);
    };
  }

 private:
  const ProgressSink& sink_;
  std::size_t count_;
  std::size_t done_ = 0;
};

}  // namespace halftone::compress
