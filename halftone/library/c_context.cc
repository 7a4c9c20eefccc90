// SPDX-License-Identifier: Apache-2.0
#include "halftone/library/c_context.h"

#include "halftone/api/resources.h"
#include "halftone/library/c_status.h"

namespace halftone::library {
namespace {

std::shared_ptr<const Context> make_context(const halftone_context_options& options) {
  auto context = std::make_shared<Context>();
  const Resources resources{options.threads, options.simd == nullptr ? "" : options.simd,
                            options.memory_bytes};
  context->settings = settings_for(resources);
  context->simd = simd_of(resources);
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
