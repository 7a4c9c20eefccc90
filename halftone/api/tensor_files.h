// SPDX-License-Identifier: Apache-2.0
// Tensors in NumPy files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/ir/tensor.h"

namespace halftone {

/// Reads a .npy file and converts its elements.
/// @throws Error kShape if an extent is 0; else as data::read_npy(), data::to_floats() and
///         data::to_integers()
ir::Tensor read_tensor(const std::filesystem::path& path, ir::ElementType element);

/// The same of the bytes of a file.
ir::Tensor read_tensor(std::span<const std::byte> file, ir::ElementType element);

/// Writes a .npy file. 16-bit integers become int32, uint32 and uint64 int64, float64 float32.
/// @throws Error as data::write_npy()
void write_tensor(const std::filesystem::path& path, const ir::Tensor& tensor);

/// The bytes of the file.
std::vector<std::byte> npy_of(const ir::Tensor& tensor);
/// The same of files that are written together.
void add_tensor(NewFiles& files, const std::filesystem::path& path, const ir::Tensor& tensor);

}  // namespace halftone
