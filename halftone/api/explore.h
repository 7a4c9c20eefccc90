// SPDX-License-Identifier: Apache-2.0
// Chooses hardware and bits for each layer of a network together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/accel/explore/explore.h"
#include "halftone/api/data_source.h"
#include "halftone/api/network.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/types/defaults.hpp"
#include "halftone/types/hardware.hpp"

namespace halftone {

/// @param description  the path of a TOML file, or the text of one
/// @throws Error as read_file() and accel::parse_space()
accel::Space space_of(const std::string& description);

struct ExploreSettings {
  accel::Space space;
  compress::Recipe recipe{};  ///< how layers are fitted
  accel::SearchSettings options{};
  std::filesystem::path state{};       ///< keeps measured sensitivities, by pairs of bits
  std::optional<std::size_t> batch{};  ///< samples of an estimated run, as in EstimateJob
  std::size_t tries = v0::ExploreSearch().tries;
  std::uint64_t seed = 0;
  spmd::Devices devices{};
  std::optional<std::uint64_t> memory_bytes{};  ///< as in compress::QuantizeSettings
  std::size_t evaluation_batch = v0::kRunBatch;
};

/// What a search asks for, of a space as space_of() takes it.
/// @throws Error as space_of(); kUsage for an unknown objective or method
ExploreSettings settings_for(const std::string& space, const v0::ExploreSearch& search,
                             const ProgressSink& progress);

/// Samples for fits, and those on which losses are measured; without them it is every fourth one
/// of `data`, which fits do not see then.
template <typename Source>
struct ExploreData {
  const Source& data;
  const Source* evaluation = nullptr;
};

/// Its standard error is drop_standard_error().
using v0::VerifiedDesign;

/// The standard error of a drop that was measured on n samples:
///
///     sqrt(p (1 - p) / n)   p = (|drop| n + 1) / (n + 2)
///
/// of the share of samples whose answer changes. Without a change p is still 1 / (n + 2), because
/// few samples do not show that none changes. Source: Laplace's rule of succession.
double drop_standard_error(double drop, std::size_t samples);

struct ExploreReport {
  std::string network;
  std::string comparison{};  ///< of the accelerator with real hardware; empty: none
  accel::SearchSettings options{};
  bool has_labels = false;
  std::size_t fit_samples = 0;
  std::size_t judged_samples = 0;         ///< on which losses were measured
  std::string judged_on{};                ///< where they are from
  compress::Sensitivity sensitivities{};  ///< losses_alone() at all pairs of bits of the space
  accel::Exploration search{};
  std::vector<VerifiedDesign> verified{};  ///< in the order in which they were tried
  std::size_t chosen = 0;                  ///< index in `verified`
  bool is_within = false;  ///< whether the drop measured for it keeps the budget, see drop_bound()
  std::vector<accel::Setting> settings{};  ///< of the chosen design
  accel::Accelerator accelerator{};        ///< of the chosen design
  std::string recipe{};                    ///< of the chosen design, as TOML
  accel::Estimate estimate{};              ///< of the network with the chosen bits
};

/// Measures sensitivities, finds the front (accel::explore()) and verifies designs: the best one by
/// its predicted drop is quantized and evaluated on samples that the fit did not see. The next try
/// has less noise if the drop measured, with its standard error, is beyond the budget, else more,
/// until no design lies between one that keeps the budget and one that does not. The best verified
/// design that keeps the budget is chosen, or, if none does, the one with the least drop.
/// @throws Error kUsage without a try; kUnsupported if no design has a predicted drop within the
///         budget; as prepared(), accel::check_budget(), compress::losses_alone(),
///         accel::explore() and accel::estimate()
ExploreReport explore(const Network& network, const ExploreData<data::Dataset>& samples,
                      const ExploreSettings& settings);
/// The same with samples of files, none of which the state may replace.
/// @throws Error also as FileUses::check() and DataSource::open()
ExploreReport explore(const Network& network, const ExploreData<DataSource>& samples,
                      const ExploreSettings& settings);

}  // namespace halftone
