// SPDX-License-Identifier: Apache-2.0
// The answers of teachers to all samples, in a file.
//
// Little-endian, in this order: the 8 characters "htscores"; as uint64 the version (1), the
// fingerprint of the samples, their number, that of teachers and of classes; the scores as float32
// [samples, teachers, classes]; as uint64 the Hash of all bytes before it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "halftone/base/file.h"
#include "halftone/base/hash.h"
#include "halftone/data/dataset.h"
#include "halftone/data/file_bytes.h"

namespace halftone::train {

/// What a file has to be about.
struct ScoreCacheKey {
  std::uint64_t data = 0;  ///< fingerprint()
  std::uint64_t samples = 0;
  std::uint64_t teachers = 0;
  std::uint64_t classes = 0;

  bool operator==(const ScoreCacheKey&) const = default;
};

/// Hash of the Hashes of all samples, as float32 numbers in the shape they have. Reads them all.
/// @throws Error as Dataset::read()
std::uint64_t fingerprint(const data::Dataset& data);

/// A file of answers, mapped: only what is asked for takes memory.
class ScoreCache {
 public:
  /// Reads the file once, to check it.
  /// @throws Error kIo as map_file(); kFormat if it is no such file or damaged, or not about `key`
  ScoreCache(const std::filesystem::path& path, const ScoreCacheKey& key);

  /// float32 [teachers, samples, classes]. @pre samples are below the key's number
  [[nodiscard]] at::Tensor scores(std::span<const std::size_t> samples) const;

 private:
  ScoreCacheKey key_;
  data::FileBytes file_;
  std::span<const float> scores_;
};

/// Writes such a file from front to back; it is complete or absent.
class ScoreCacheWriter {
 public:
  /// @throws Error kIo as NewFile
  ScoreCacheWriter(const std::filesystem::path& path, const ScoreCacheKey& key);
  /// Samples that follow those before, [samples, teachers, classes].
  void append(std::span<const float> scores);
  /// @pre all samples were appended
  void finish();

 private:
  void write(std::span<const std::byte> bytes);

  NewFile file_;
  Hash hash_;
};

/// @throws Error kFormat "PATH: WHAT: delete it or name another file"
[[noreturn]] void refuse_cache(const std::filesystem::path& path, const std::string& what);

}  // namespace halftone::train
