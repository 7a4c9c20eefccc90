// SPDX-License-Identifier: Apache-2.0
// The texts around a C program that runs in a browser.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "halftone/base/embedded_text.h"
#include "halftone/export_c/files.h"

namespace halftone::export_c {

/// The files of web/ by their stems.
std::span<const EmbeddedText> web_texts();

/// wasm.c: what the module exports, `arena`, `run` and `reset`, and the functions of string.h.
std::string module_source_text(const FileContext& context);
/// string.h of those functions.
std::string module_string_header();
/// net.js: the class HalftoneNet, with the inputs and outputs of this network.
std::string module_script(const FileContext& context);

}  // namespace halftone::export_c
