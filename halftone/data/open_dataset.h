// SPDX-License-Identifier: Apache-2.0
// Entry point of the module: opens a data set of any format, chosen by file type and name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/data/dataset.h"
#include "halftone/types/data.hpp"

namespace halftone::data {

using DatasetOptions = v0::DataOptions;

/// Opens a data set:
///   - a folder with the IDX files of MNIST, plain or .gz: `train-images-idx3-ubyte`,
///     `train-labels-idx1-ubyte` for split train, `t10k-...` for test (also `-images.idx3-ubyte`);
///     labels may be absent;
///   - `x.bin`: CIFAR-10 records; samples are CHW;
///   - `x.npy` or `x.npy,y.npy`: [N, ...] and integer labels [N] or [N, 1]; samples of three
///     extents are images if the first or the last is 1 to 4; `NAME=x.npy` are the samples of the
///     network input NAME;
///   - `x.npz`: an array [N, ...] for each network input, by name; integers [N] or [N, 1] called
///   `y`
///     are labels, as is the file in `x.npz,y.npy`; arrays arr_0, arr_1, ... are in order;
///   - a folder of such .npy and .npz files, in the order of their names, or `folder,y.npy` with
///   the
///     labels of all samples: as Dataset::joined(), so samples of a file may have a size of its
///     own;
///   - `x.h5`, `x.hdf5`: ONE's layout, or data sets `x` and, for labels, `y`.
/// @throws Error kIo if a file is missing or unreadable; kFormat if it is malformed or empty;
///         kUnsupported for other kinds of files; kUsage if split, limit or scale is out of range
Dataset open_dataset(const std::string& path, const DatasetOptions& options = {});

/// The same for a network of several inputs: a `.npy` file for each, all named or all in the order
/// of the inputs. At most one has labels. Where a name comes again, the file has further samples of
/// that input, which may have another size; so have several `.npz` files.
/// @throws Error as above and Dataset::joined(); kUsage for other types of files, or if only some
///         are named
Dataset open_dataset(std::span<const std::string> paths, const DatasetOptions& options = {});

/// The same from files already in memory; messages use `name` for the data set.
Dataset dataset_from_idx(const std::string& name, const SharedBytes& images,
                         const std::optional<SharedBytes>& labels, const DatasetOptions& options);
Dataset dataset_from_cifar(const std::string& name, const SharedBytes& file,
                           const DatasetOptions& options);
Dataset dataset_from_npy(const std::string& name, const SharedBytes& x,
                         const std::optional<SharedBytes>& y, const DatasetOptions& options);
Dataset dataset_from_npz(const std::string& name, const SharedBytes& file,
                         const std::optional<SharedBytes>& y, const DatasetOptions& options);

/// An array [N, ...] in C order and the native byte order: the samples of one network input.
struct SampleArray {
  std::string input{};  ///< the name of the network input; empty: inputs are in order
  Scalar type = Scalar::kFloat32;
  std::vector<std::size_t> shape;  ///< with N first
  SharedBytes bytes;               ///< [product of shape * size_bytes(type)]
};

/// The same data set as that of .npy files with these arrays.
/// @param labels  one per sample, or none
/// @throws Error kFormat if an array is empty or has no axis, if arrays have different N, or as
///         Dataset(); kUsage if there is no array, or only some are named
Dataset dataset_from_arrays(const std::string& name, std::vector<SampleArray> arrays,
                            std::vector<std::int64_t> labels, const DatasetOptions& options = {});

}  // namespace halftone::data
