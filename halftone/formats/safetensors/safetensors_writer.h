// SPDX-License-Identifier: Apache-2.0
// Writes safetensors files, tensor after tensor.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/byte_stream.h"
#include "halftone/formats/safetensors/safetensors_file.h"

namespace halftone::formats {

/// A tensor for a new file.
struct NewSafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<std::size_t> shape;  ///< the outermost extent first
  ByteSource bytes;                ///< row-major, little-endian; asked for once
};

using SafetensorsMetadata = std::map<std::string, std::string>;

/// Writes a file. The data begin at a multiple of 64. The format has no gaps between tensors, so
/// that their order aligns them: the tensors come by a, the greatest power of two up to 64 that
/// divides their number of bytes, the greatest first, then by their names. So each begins at a
/// multiple of its a: of its elements' size, and of 64 if it has a multiple of 64 bytes. The same
/// tensors and metadata give the same bytes, in whatever order they are given.
/// @throws Error kUsage if a name is there twice, is "__metadata__" or a text is not UTF-8; kShape
///         if a source gives another number of bytes or a tensor has more than 2^48 of them; as the
///         sources
void write_safetensors(const ByteSink& sink, const SafetensorsMetadata& metadata,
                       std::span<const NewSafetensorsTensor> tensors);
/// The same to a file, which is complete or unchanged. @throws Error kIo as write_file()
void write_safetensors(const std::filesystem::path& path, const SafetensorsMetadata& metadata,
                       std::span<const NewSafetensorsTensor> tensors);

}  // namespace halftone::formats
