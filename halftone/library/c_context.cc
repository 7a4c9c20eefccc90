// SPDX-License-Identifier: Apache-2.0
#include "halftone/library/c_context.h"

#include "halftone/base/parallel.h"
#include "halftone/kernels/targets.h"
#include "halftone/library/c_status.h"

namespace halftone::library {
namespace {

constexpr int kMaxThreads = 1024;

std::shared_ptr<const Context> make_context(const halftone_context_options& options) {
  auto context = std::make_shared<Context>();
  if (options.threads < 0 || options.threads > kMaxThreads) {
    fail(ErrorKind::kUsage, "threads: expected 0 to " + std::to_string(kMaxThreads) + ", found " +
                                std::to_string(options.threads));
  }
  // What the process does about its own threads and SIMD target, if anything, is not ours.
  const int threads = options.threads != 0 ? options.threads : num_cores();
  const bool chooses = options.simd == nullptr || std::string_view(options.simd) == "auto";
  const std::string simd = chooses ? kernels::simd_targets().front() : options.simd;
  context->settings = {threads, kernels::simd_setting(simd), options.memory_bytes};
  context->simd = simd;
  if (options.tuning_file != nullptr) {
    context->tuning_file = options.tuning_file;
    context->tuning =
        std::make_shared<runtime::Tuning>(runtime::Tuning::read(context->tuning_file));
  }
  return context;
}

}  // namespace
}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

halftone_status halftone_context_create(const halftone_context_options* options,
                                        halftone_context** context) noexcept {
  return guarded([&] {
    halftone_context*& result = required(context, "context");
    result = give(halftone_context{make_context(known(options, "options"))});
  });
}

void halftone_context_destroy(halftone_context* context) noexcept { take_back(context); }

int halftone_context_threads(const halftone_context* context) noexcept {
  return context == nullptr ? 0 : context->state->settings.threads;
}

const char* halftone_context_simd(const halftone_context* context) noexcept {
  return context == nullptr ? nullptr : context->state->simd.c_str();
}

halftone_status halftone_context_save_tuning(const halftone_context* context) noexcept {
  return guarded([&] {
    const Context& state = *required(context, "context").state;
    if (state.tuning == nullptr) {
      fail(ErrorKind::kUsage, "context: expected one with a tuning file, found none");
    }
    const std::lock_guard lock(state.tuning_mutex);
    state.tuning->write(state.tuning_file);
  });
}
