// SPDX-License-Identifier: Apache-2.0
// Results of language models for people and for scripts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/batch_generation.h"
#include "halftone/api/language_conversion.h"
#include "halftone/api/language_quantization.h"
#include "halftone/api/language_speed.h"
#include "halftone/api/text_evaluation.h"
#include "halftone/lm/evaluate/text_evaluation.h"
#include "halftone/lm/generate/generate.h"

namespace halftone::report {

/// One line about speed, without a line feed.
std::string to_line(const lm::Generation& generation);
std::string to_json(const lm::Generation& generation);
/// An answer of a conversation: the same in one line.
std::string to_json_line(const lm::Generation& generation);

/// An answer of a batch in one line: its number from 1 on, the id of its request if it has one, and
/// the keys of a generation, or "error".
std::string to_json_line(const BatchAnswer& answer);

/// {"dimensions": 64, "vectors": [[0.1, ...]]}
std::string vectors_to_json(std::span<const std::vector<float>> vectors);

std::string to_text(const lm::TextEvaluation& evaluation);
std::string to_json(const lm::TextEvaluation& evaluation);
/// Of one text lines, of several a table with a row for each.
std::string to_text(std::span<const TextFileEvaluation> evaluations);
/// Of one text as to_json(evaluation), of several {"texts": [...]}, where each has its name.
std::string to_json(std::span<const TextFileEvaluation> evaluations);

std::string to_text(const LanguageSpeed& speed);
std::string to_json(const LanguageSpeed& speed);

std::string to_text(const LanguageQuantizeReport& report);
std::string to_json(const LanguageQuantizeReport& report);

std::string to_text(const LanguageConvertReport& report);
std::string to_json(const LanguageConvertReport& report);

}  // namespace halftone::report
