// SPDX-License-Identifier: Apache-2.0
// A file with the scores of teachers for all samples.
//
// Little-endian, in this order: the 8 characters "htscores"; as uint64 the version (1), the
// fingerprint of the samples, and the numbers of samples, teachers and scores of a sample; the
// scores as float32 [samples, teachers, scores]; as uint64 the Hash of all bytes before it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "halftone/base/file.h"
#include "halftone/base/hash.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/data/dataset.h"

namespace halftone::train {

/// Identifies the contents of a file.
struct ScoreCacheKey {
  std::uint64_t data = 0;  ///< fingerprint()
  std::uint64_t samples = 0;
  std::uint64_t teachers = 0;
  std::uint64_t scores = 0;

  bool operator==(const ScoreCacheKey&) const = default;
};

/// Hash of the Hashes of all samples, read as float32. Reads the whole data set.
/// @throws Error as Dataset::read()
std::uint64_t fingerprint(const data::Dataset& data);

/// A memory-mapped file of scores: only the requested scores take memory.
class ScoreCache {
 public:
  /// Reads the file once, to check it.
  /// @throws Error kIo as map_file(); kFormat if the file has another format, another key, or is
  ///         damaged
  ScoreCache(const std::filesystem::path& path, const ScoreCacheKey& key);

  /// float32 [teachers, samples, scores]. @pre sample indices are below the key's number
  [[nodiscard]] at::Tensor scores(std::span<const std::size_t> samples) const;

 private:
  ScoreCacheKey key_;
  SharedBytes file_;
  std::span<const float> scores_;
};

/// Writes such a file sequentially; the file is complete or absent.
class ScoreCacheWriter {
 public:
  /// @throws Error kIo as NewFile
  ScoreCacheWriter(const std::filesystem::path& path, const ScoreCacheKey& key);
  /// Appends the scores of the next samples, [samples, teachers, scores].
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
