// SPDX-License-Identifier: Apache-2.0
// Entry point of the module: opens a data set of any format, chosen by file type and name.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "halftone/data/dataset.h"
#include "halftone/data/file_bytes.h"

namespace halftone::data {

struct DatasetOptions {
  std::string split = "train";       ///< "train" or "test"; used for folders of IDX files only
  std::optional<std::size_t> limit;  ///< use only the first `limit` samples
  double scale = 1.0 / 255;          ///< factor for uint8 pixels
};

/// Opens a data set:
///   - a folder with the IDX files of MNIST, plain or .gz: `train-images-idx3-ubyte`,
///     `train-labels-idx1-ubyte` for split train, `t10k-...` for test (also `-images.idx3-ubyte`);
///     labels may be absent;
///   - `x.bin`: CIFAR-10 records; samples are CHW;
///   - `x.npy` or `x.npy,y.npy`: [N, ...] and integer labels [N] or [N, 1]; samples of three
///     extents are images if the first or the last is 1 to 4;
///   - `x.h5`, `x.hdf5`: ONE's layout, or data sets `x` and, for labels, `y`.
/// @throws Error kIo if a file is missing or unreadable; kFormat if it is malformed or empty;
///         kUnsupported for other kinds of files; kUsage if split, limit or scale is out of range
Dataset open_dataset(const std::string& path, const DatasetOptions& options = {});

/// The same from files already in memory; messages use `name` for the data set.
Dataset dataset_from_idx(const std::string& name, const FileBytes& images,
                         const std::optional<FileBytes>& labels, const DatasetOptions& options);
Dataset dataset_from_cifar(const std::string& name, const FileBytes& file,
                           const DatasetOptions& options);
Dataset dataset_from_npy(const std::string& name, const FileBytes& x,
                         const std::optional<FileBytes>& y, const DatasetOptions& options);

}  // namespace halftone::data
