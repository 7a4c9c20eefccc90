// SPDX-License-Identifier: Apache-2.0
// The fields of the options that the C++ API, the command line and Python share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/fields/fields.h"
#include "halftone/types/data.hpp"
#include "halftone/types/hardware.hpp"
#include "halftone/types/language.hpp"
#include "halftone/types/language_distill.hpp"
#include "halftone/types/language_quantize.hpp"
#include "halftone/types/language_speed.hpp"
#include "halftone/types/train.hpp"

namespace halftone {

Fields fields_of(v0::TrainOptions& options);
/// Without stages, features and memory.
Fields fields_of(v0::TeachingOptions& options);
Fields fields_of(v0::LanguageDistillOptions& options);
/// Where a model runs: of all options that have it.
Field device_field(std::string& device);
/// Which precision of a file of two a model has.
Field precision_field(std::optional<std::size_t>& bits);
Fields fields_of(v0::LanguageModelOptions& options);
Fields fields_of(v0::LanguageSpeedOptions& options);
/// What quantizing and measuring a language model have in common.
Fields fields_of(v0::LanguageFitOptions& options);
/// These too, without the rules of types.
Fields fields_of(v0::LanguageQuantizeOptions& options);
Fields fields_of(v0::SamplingOptions& options);
/// These too, without the texts at which it stops.
Fields fields_of(v0::GenerateOptions& options);

/// Which samples are read.
Fields fields_of(v0::DataOptions& options);
/// Of all jobs that run samples.
Field batch_field(std::size_t& batch);
/// Of all jobs that fit networks to samples.
Field memory_field(std::optional<std::uint64_t>& bytes);
/// Of all jobs that may be interrupted.
Field state_field(std::filesystem::path& state);

/// What layers may get unless choices are given.
std::vector<std::string> default_choices();
/// What layers may get: of networks and of language models.
Field choices_field(std::vector<std::string>& choices);
/// These, and the loss by which that is measured.
Fields choice_fields(std::vector<std::string>& choices, std::string& loss);
/// How often a budget is tried.
Field tries_field(std::size_t& tries);
/// Of what processor limits of the C program are.
Fields firmware_fields(std::string& core, std::optional<double>& instruction_pj);

/// Without a recipe.
Fields fields_of(v0::EstimateOptions& options);
Fields fields_of(v0::LanguageEstimateOptions& options);
/// Without a budget and memory.
Fields fields_of(v0::ExploreSearch& options);
Fields fields_of(v0::CrossbarOptions& options);
/// From programming a crossbar to reading.
Field crossbar_seconds_field(std::string name, std::optional<double>& seconds);
/// Of runs that are measured or estimated.
Field run_batch_field(std::optional<std::size_t>& batch);
/// What pages about networks show.
Fields page_fields(std::optional<std::size_t>& samples_per_run, std::size_t& worst, bool& time,
                   bool& live);
/// How a network's time is measured.
Fields timing_fields(std::optional<std::size_t>& batch, double& seconds);

/// Windows of a text; the stride and the limit are 0 unless they are given.
Fields window_fields(std::size_t& window, std::size_t& stride, std::size_t& max_windows,
                     bool& second_half);

}  // namespace halftone
