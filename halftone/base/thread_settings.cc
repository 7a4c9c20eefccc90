// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/thread_settings.h"

#include <utility>

namespace halftone {
namespace {

thread_local ThreadSettings settings_of_thread;

}  // namespace

const ThreadSettings& thread_settings() noexcept { return settings_of_thread; }

UseThreadSettings::UseThreadSettings(const ThreadSettings& settings) noexcept
    : outer_(std::exchange(settings_of_thread, settings)) {}

UseThreadSettings::~UseThreadSettings() { settings_of_thread = outer_; }

}  // namespace halftone
