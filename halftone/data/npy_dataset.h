// SPDX-License-Identifier: Apache-2.0
// Data sets of NumPy arrays. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "halftone/data/open_dataset.h"

namespace halftone::data {

/// @throws Error kUsage if split, limit or scale is out of range
void check_options(const DatasetOptions& options);
/// @throws Error kUsage if only some inputs are named
void check_names(const std::string& name, std::size_t num_named, std::size_t num_inputs);

/// @param paths  `[NAME=]x.npy[,y.npy]` for each network input; if names come again, further
/// samples
/// @throws Error as open_dataset()
Dataset open_npy(std::span<const std::string> paths, const DatasetOptions& options);

/// The .npy and .npz files of a folder, in the order of their names.
/// @param path  of a folder, or `folder,y.npy` with the labels of all samples
/// @return      nothing if there are none
/// @throws Error as open_dataset()
std::optional<Dataset> open_npy_folder(const std::string& path, const DatasetOptions& options);

/// @param path  `x.npz` or `x.npz,y.npy`
/// @throws Error as open_dataset()
Dataset open_npz(const std::string& path, const DatasetOptions& options);

/// The samples of several archives.
/// @throws Error as open_npz() and Dataset::joined()
Dataset open_archives(std::span<const std::string> paths, const DatasetOptions& options);

}  // namespace halftone::data
