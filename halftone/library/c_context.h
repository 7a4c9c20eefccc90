// SPDX-License-Identifier: Apache-2.0
// The context of the C API.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "halftone/base/thread_settings.h"
#include "halftone/halftone.h"
#include "halftone/runtime/plan/tuning.h"

namespace halftone::library {

/// What the calls that belong to a context use. Models, plans and sessions share it.
struct Context {
  ThreadSettings settings;
  std::string simd;
  std::filesystem::path tuning_file;        ///< empty: nothing is measured
  std::shared_ptr<runtime::Tuning> tuning;  ///< null without a file
  mutable std::mutex tuning_mutex;          ///< held while a plan is made or the file is written
};

}  // namespace halftone::library

struct halftone_context {
  std::shared_ptr<const halftone::library::Context> state;
};
