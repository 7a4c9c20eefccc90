// SPDX-License-Identifier: Apache-2.0
// How jobs run that take long.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

#include "halftone/base/thread_settings.h"
#include "halftone/spmd/devices.hpp"
#include "python/src/progress.h"

namespace halftone::python {

/// Which threads a job uses, and whom it tells.
struct JobArguments {
  int threads = 0;  ///< 0: all cores
  nanobind::object progress = nanobind::none();
};

/// How networks are fitted.
struct QuantizeArguments : JobArguments {
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> memory{};
  std::string integers{};  ///< the format of a network of 8-bit integers; empty: by the recipe
};

/// Runs a job without the GIL on its threads, each of which is a device.
template <typename Work>
auto run_job(const JobArguments& how, const Work& work) {
  Reporter reporter(how.progress);
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = how.threads;
    const UseThreadSettings use(settings);
    return work(reporter.sink(), spmd::Devices::for_threads());
  });
}

}  // namespace halftone::python
