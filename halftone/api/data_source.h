// SPDX-License-Identifier: Apache-2.0
// Samples in files.
#pragma once

#include <string>
#include <vector>

#include "halftone/base/file_uses.h"
#include "halftone/data/open_dataset.h"

namespace halftone {

/// A data set that is not open yet: the arguments of data::open_dataset().
struct DataSource {
  std::vector<std::string> paths;  ///< one, or a .npy file for each input of the network
  data::DatasetOptions options{};

  void add_to(FileUses& uses) const {
    for (const std::string& path : paths) uses.read_samples("data", path);
  }
  /// @throws Error as data::open_dataset()
  [[nodiscard]] data::Dataset open() const { return data::open_dataset(paths, options); }
};

}  // namespace halftone
