// SPDX-License-Identifier: Apache-2.0
// Measures which layers hurt, and quantizes networks within budgets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/data_source.h"
#include "halftone/api/firmware.h"
#include "halftone/api/network.h"
#include "halftone/api/option_fields.h"
#include "halftone/api/quantize.h"
#include "halftone/compress/sensitivity/budget_search.h"
#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone {

struct SensitivitySettings {
  compress::Recipe recipe{};  ///< how layers are fitted; what its overrides say is no choice
  std::vector<compress::LayerChoice> choices = compress::choices_named(default_choices());
  compress::MeasureSettings options{};  ///< without `known` and `measured`
  /// Keeps what was measured of each choice, so that an interrupted run continues; empty: nothing.
  std::filesystem::path state{};
};

/// The data is that of the float network: integer inputs and outputs become float32.
/// @throws Error as prepared() and compress::sensitivity(); kFormat if the state is of another
///         network, data, recipe or seed; kIo if it cannot be written
compress::Sensitivity sensitivity(const Network& network, const data::Dataset& data,
                                  const SensitivitySettings& settings = {});

/// The same of a network that is quantized already, beside the float network it was made from.
/// @throws Error as prepared() and compress::sensitivity_of()
compress::Sensitivity sensitivity_of(const Network& quantized, const Network& reference,
                                     const data::Dataset& data,
                                     const compress::MeasureSettings& options = {});

/// Reads limits such as "bytes=60k", "us=200", "loss=0.5", "pj=2e6", "instructions=2M"; bytes and
/// instructions may have a unit: k, M, G of 1000, Ki, Mi, Gi of 1024, with or without B.
/// @throws Error kUsage that says what was expected, also if a measure is there twice
compress::Budget budget_named(std::span<const std::string> limits);

struct NamedLimits {
  compress::Budget budget;
  FirmwareLimits firmware{};
};

/// Reads the limits of budget_named(), "flash=30k" in place of bytes, and "ram=16k" beside others;
/// of the firmware neither core nor energy.
/// @throws Error kUsage as budget_named(); also if `ram` is alone, or `flash` is there with `bytes`
NamedLimits limits_named(std::span<const std::string> limits);

/// Whether a budget limits the time, or wants the least.
bool needs_time(const compress::Budget& budget);

struct BudgetSettings {
  compress::Budget budget;
  FirmwareLimits firmware{};
  SensitivitySettings sensitivity{};
  std::size_t tries = v0::kBudgetTries;  ///< networks that are quantized, at most; at least 1
  std::string format = "circle";  ///< of the file whose bytes count: "onnx", "tflite" or "circle"
  formats::ExportOptions form{};
};

/// Quantizes a network within a budget. With a limit on RAM, choices that would exceed it if all
/// layers had them are left out.
/// @throws Error as prepared(), sensitivity(), to_bytes() and compress::quantize_within(); kUsage
///         without a try; with limits of firmware as sizes_as_c(), and kUnsupported if the RAM
///         cannot be kept
compress::SearchResult quantize_within(const Network& network, const data::Dataset& data,
                                       const BudgetSettings& settings);

/// A file to quantize within a budget, and the file to write.
struct BudgetJob {
  std::filesystem::path input;
  std::filesystem::path output;
  DataSource data;
  std::optional<DataSource> evaluation{};  ///< on which losses are measured; else `data`
  BudgetSettings settings;                 ///< its format follows from `output`
  formats::ImportOptions import{};
  std::filesystem::path recipe_output{};  ///< for the recipe that was found; empty: none
};

struct BudgetReport {
  QuantizeReport quantized;
  compress::Budget budget;
  FirmwareLimits firmware{};
  std::optional<std::size_t> ram_bytes{};  ///< of the arena as C, if the firmware has a limit
  compress::Sensitivity costs;
  std::vector<v0::ChosenLayer> choices;
  std::vector<v0::BudgetTry> tries;
  std::size_t chosen = 0;               ///< index in `tries`
  std::vector<v0::NetworkCosts> front;  ///< predicted
  std::string recipe;                   ///< in TOML
};

/// What a search with these settings has found, without sizes of files and seconds.
BudgetReport report_of(const compress::SearchResult& result, const BudgetSettings& settings);

/// @throws Error as check_output(), load(), DataSource::open(), quantize_within() and save()
BudgetReport quantize_file_within(const BudgetJob& job);

/// Files to measure.
struct SensitivityJob {
  std::filesystem::path input;
  std::filesystem::path reference{};  ///< the float network of `input`; empty: `input` is float
  DataSource data;
  std::optional<DataSource> evaluation{};  ///< on which losses are measured; else `data`
  SensitivitySettings settings{};
  formats::ImportOptions import{};
};

/// @throws Error as load_all(), DataSource::open(), sensitivity() and sensitivity_of()
compress::Sensitivity sensitivity_of_file(const SensitivityJob& job);

}  // namespace halftone
