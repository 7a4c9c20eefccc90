// SPDX-License-Identifier: Apache-2.0
// Choices between the kernels of one arithmetic: how they are measured, and kept in a file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// A way to compute a layer. All ways give the same bits.
struct LayerMethod {
  std::optional<Product> product;  ///< one of Implementation::products; none if it has no choice
  int threads = 1;

  bool operator==(const LayerMethod&) const = default;
};

/// The fastest way to compute a layer, as measured.
struct MeasuredMethod {
  LayerMethod way;
  double us = 0;  ///< median time of a run

  bool operator==(const MeasuredMethod&) const = default;
};

/// Which way was the fastest for each layer, on this processor and on others. A plan that is made
/// with a Tuning measures the layers that are missing in it; it gives the same results as any other
/// plan, bit for bit. Not for use by several threads at a time.
///
/// File: text, a line per layer, fields separated by tabs:
///
///     halftone tuning 1
///     processor, SIMD target, version <tab> layer <tab> kernel <tab> threads <tab> microseconds
class Tuning {
 public:
  /// Holds nothing yet.
  Tuning() = default;
  /// Reads a file; one that does not exist holds nothing.
  /// @throws Error kIo as read_file(); kFormat if it is not such a file
  static Tuning read(const std::filesystem::path& file);
  /// Writes what was read and what was measured since, sorted. Creates the folder if it is missing.
  /// @throws Error kIo as write_file(), or if the folder cannot be created
  void write(const std::filesystem::path& file) const;

  /// The fastest way of a layer, on the current processor and SIMD target.
  [[nodiscard]] std::optional<MeasuredMethod> find(const std::string& layer) const;
  /// @param layer  without tabs and line feeds
  void record(const std::string& layer, const MeasuredMethod& measured);

  /// Layers on all machines.
  [[nodiscard]] std::size_t size() const { return lines_.size(); }

  /// Where a plan reports the layers that it measures; may be empty.
  void set_progress(ProgressSink progress) { progress_ = std::move(progress); }
  void report(double fraction, std::string_view activity) const {
    if (progress_) progress_(fraction, activity);
  }

 private:
  /// A line of the file. Other versions may have methods of other names.
  struct Line {
    std::string kernel;  ///< the name of the product, or empty
    int threads = 1;
    double us = 0;
  };

  std::map<std::string, Line> lines_;  ///< by machine and layer, with a tab between
  ProgressSink progress_;
};

/// The file that the programs use unless told otherwise: halftone/tuning.txt in $XDG_CACHE_HOME,
/// otherwise in ~/.cache; empty if neither XDG_CACHE_HOME nor HOME is set.
std::filesystem::path default_tuning_file();

/// The ways to compute a node by an implementation, those of one thread first; empty if there is
/// nothing to choose or nothing that can be measured.
std::vector<LayerMethod> methods_of(const Implementation& implementation,
                                    const NodeContext& context);

/// The context to create a kernel for a way, which must outlive the call of create().
NodeContext with_method(NodeContext context, const LayerMethod& way);

/// The fastest way: as `tuning` knows it, otherwise measured on random inputs and recorded there.
/// Nothing if there is nothing to choose.
std::optional<MeasuredMethod> fastest_method(const Implementation& implementation,
                                             const NodeContext& context, Tuning& tuning);

}  // namespace halftone::runtime
