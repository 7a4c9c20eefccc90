// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/score_cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"

namespace halftone::train {
namespace {

static_assert(std::endian::native == std::endian::little, "scores are mapped as they lie in files");

constexpr std::string_view kScoresMagic = "htscores";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 6 * sizeof(std::uint64_t);

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.value();
}

/// Reads the key from a file's header.
ScoreCacheKey read_key(ByteReader& reader) {
  ScoreCacheKey key;
  key.data = reader.little_endian<std::uint64_t>();
  key.samples = reader.little_endian<std::uint64_t>();
  key.teachers = reader.little_endian<std::uint64_t>();
  key.scores = reader.little_endian<std::uint64_t>();
  return key;
}

std::string sizes_of(const ScoreCacheKey& key) {
  return "[" + std::to_string(key.samples) + ", " + std::to_string(key.teachers) + ", " +
         std::to_string(key.scores) + "]";
}

}  // namespace

void refuse_cache(const std::filesystem::path& path, const std::string& what) {
  fail(ErrorKind::kFormat, path.string() + ": " + what + ": delete it or name another file");
}

std::uint64_t fingerprint(const data::Dataset& data) {
  constexpr std::size_t kSamples = 256;  // per work item
  std::vector<std::uint64_t> hashes(data.size());
  parallel_for((data.size() + kSamples - 1) / kSamples, [&](std::size_t piece) {
    std::vector<float> numbers;
    for (std::size_t s = piece * kSamples; s < std::min((piece + 1) * kSamples, data.size()); ++s) {
      Hash hash;
      for (std::size_t i = 0; i < data.inputs().size(); ++i) {
        numbers.resize(data.inputs()[i].shape.num_elements());
        data.read(i, s, 1, numbers);
        hash.add(std::as_bytes(std::span(numbers)));
      }
      hashes[s] = hash.value();
    }
  });
  return hash_of(std::as_bytes(std::span(hashes)));
}

ScoreCache::ScoreCache(const std::filesystem::path& path, const ScoreCacheKey& key)
    : key_(key), file_(map_file(path)) {
  const std::span<const std::byte> bytes = file_.bytes;
  const bool is_cache = bytes.size() >= kHeaderBytes + sizeof(std::uint64_t) &&
                        std::memcmp(bytes.data(), kScoresMagic.data(), kScoresMagic.size()) == 0;
  if (!is_cache) refuse_cache(path, "is not a file of teachers' answers");
  ByteReader reader(bytes.subspan(kScoresMagic.size()));
  const auto version = reader.little_endian<std::uint64_t>();
  if (version != kVersion) {
    refuse_cache(path, "expected teachers' answers of version " + std::to_string(kVersion) +
                           ", found " + std::to_string(version));
  }
  const ScoreCacheKey found = read_key(reader);
  const std::size_t before_hash = bytes.size() - sizeof(std::uint64_t);
  if (ByteReader(bytes.subspan(before_hash)).little_endian<std::uint64_t>() !=
      hash_of(bytes.first(before_hash))) {
    refuse_cache(path, "is damaged or incomplete");
  }
  if (found.samples != key.samples || found.teachers != key.teachers ||
      found.scores != key.scores) {
    refuse_cache(path, "expected answers [samples, teachers, scores] of " + sizes_of(key) +
                           ", found " + sizes_of(found));
  }
  if (found.data != key.data) refuse_cache(path, "holds answers for other samples");
  const std::size_t scores = key.samples * key.teachers * key.scores;
  if (before_hash - kHeaderBytes != scores * sizeof(float)) refuse_cache(path, "is damaged");
  scores_ = {reinterpret_cast<const float*>(bytes.data() + kHeaderBytes), scores};
}

at::Tensor ScoreCache::scores(std::span<const std::size_t> samples) const {
  at::Tensor result =
      at::empty({static_cast<std::int64_t>(key_.teachers),
                 static_cast<std::int64_t>(samples.size()), static_cast<std::int64_t>(key_.scores)},
                at::TensorOptions(at::kFloat));
  float* dst = result.data_ptr<float>();
  for (std::size_t t = 0; t < key_.teachers; ++t) {
    for (const std::size_t sample : samples) {
      const auto row = scores_.subspan((sample * key_.teachers + t) * key_.scores, key_.scores);
      dst = std::ranges::copy(row, dst).out;
    }
  }
  return result;
}

ScoreCacheWriter::ScoreCacheWriter(const std::filesystem::path& path, const ScoreCacheKey& key)
    : file_(path) {
  write(std::as_bytes(std::span(kScoresMagic)));
  const std::array<std::uint64_t, 5> header{kVersion, key.data, key.samples, key.teachers,
                                            key.scores};
  write(std::as_bytes(std::span(header)));
}

void ScoreCacheWriter::append(std::span<const float> scores) { write(std::as_bytes(scores)); }

void ScoreCacheWriter::finish() {
  const std::uint64_t hash = hash_.value();
  file_.append(std::as_bytes(std::span(&hash, 1)));
  file_.finish();
}

void ScoreCacheWriter::write(std::span<const std::byte> bytes) {
  hash_.add(bytes);
  file_.append(bytes);
}

}  // namespace halftone::train
