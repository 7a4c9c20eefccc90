// SPDX-License-Identifier: Apache-2.0
// Samples in files.
#pragma once

#include <string>

#include "halftone/data/open_dataset.h"

namespace halftone {

/// A data set that is not open yet: the arguments of data::open_dataset().
struct DataSource {
  std::string path;
  data::DatasetOptions options{};

  /// @throws Error as data::open_dataset()
  [[nodiscard]] data::Dataset open() const { return data::open_dataset(path, options); }
};

}  // namespace halftone
