// SPDX-License-Identifier: Apache-2.0
// Language models of the C API.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "halftone/api/language_model.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/thread_settings.h"
#include "halftone/language.h"
#include "halftone/library/c_context.h"
#include "halftone/library/c_status.h"

namespace halftone::library {

struct Language {
  Language(std::shared_ptr<const Context> the_context, TextModel the_model)
      : context(std::move(the_context)), model(std::move(the_model)) {}

  std::shared_ptr<const Context> context;
  TextModel model;
  lm::Generation last{};  ///< to which results point
  std::atomic<bool> used{false};
};

/// Runs `body` on a model: by this thread alone, with the settings of its context.
/// @throws Error kUsage if the model is in use
template <typename Body>
void use_alone(Language& language, Body&& body) {
  const ExclusiveUse alone(language.used, "model");
  const UseThreadSettings use(language.context->settings);
  body();
}

/// Writes a text into the caller's memory if there is room.
void give_text(std::string_view found, halftone_text* text);

}  // namespace halftone::library

struct halftone_language_model {
  std::unique_ptr<halftone::library::Language> state;
};
