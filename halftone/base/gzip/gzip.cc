// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/gzip/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>

#include "halftone/base/error.h"

namespace halftone {
namespace {

constexpr int kGzipOnly = 16;  // zlib flag, added to the window size

enum class Wrapper { kGzip, kNone };

/// zlib's decompressor over bytes in memory.
class Inflater {
 public:
  Inflater(std::span<const std::byte> bytes, Wrapper wrapper)
      : bytes_(bytes), name_(wrapper == Wrapper::kGzip ? "gzip" : "deflate") {
    const int window = wrapper == Wrapper::kGzip ? MAX_WBITS + kGzipOnly : -MAX_WBITS;
    if (::inflateInit2(&stream_, window) != Z_OK) {
      fail(ErrorKind::kInternal, "zlib failed to initialize");
    }
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream_); }

  /// Fills dst from the front. Returns fewer bytes than dst.size() at the end of the stream.
  std::size_t read(std::span<std::byte> dst) {
    std::size_t done = 0;
    while (done < dst.size() && !at_end_) done += step(dst.subspan(done));
    return done;
  }

 private:
  std::size_t step(std::span<std::byte> dst) {
    // zlib counts in 32 bits and takes non-const input that it does not change.
    constexpr std::size_t kMax = std::numeric_limits<uInt>::max();
    const auto in = static_cast<uInt>(std::min(bytes_.size(), kMax));
    const auto out = static_cast<uInt>(std::min(dst.size(), kMax));
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes_.data()));
    stream_.avail_in = in;
    stream_.next_out = reinterpret_cast<Bytef*>(dst.data());
    stream_.avail_out = out;
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    bytes_ = bytes_.subspan(in - stream_.avail_in);
    if (status == Z_STREAM_END) {
      // A gzip file may hold several streams in a row; anything else after a stream is padding.
      at_end_ = name_ != "gzip" || !is_gzip(bytes_) || ::inflateReset(&stream_) != Z_OK;
    } else if (status == Z_BUF_ERROR) {
      fail(ErrorKind::kFormat, name_ + ": the stream ends early");
    } else if (status != Z_OK) {
      fail(ErrorKind::kFormat,
           name_ + ": damaged: " + (stream_.msg != nullptr ? stream_.msg : "unknown cause"));
    }
    return out - stream_.avail_out;
  }

  z_stream stream_{};
  std::span<const std::byte> bytes_;
  std::string name_;
  bool at_end_ = false;
};

std::vector<std::byte> unpack(Inflater& inflater, std::size_t max_bytes) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  std::vector<std::byte> result;
  while (result.size() < max_bytes) {
    const std::size_t wanted = std::min(kChunkBytes, max_bytes - result.size());
    const std::size_t before = result.size();
    result.resize(before + wanted);
    const std::size_t got = inflater.read(std::span(result).subspan(before));
    result.resize(before + got);
    if (got < wanted) break;
  }
  return result;
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::vector<std::byte> gzip(std::span<const std::byte> bytes) {
  constexpr int kMemoryLevel = 8;  // that of zlib's own tools
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    fail(ErrorKind::kUnsupported, "gzip: expected at most 4 GiB");
  }
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipOnly, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    fail(ErrorKind::kInternal, "zlib failed to initialize");
  }
  std::vector<std::byte> packed(::deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (status != Z_STREAM_END) fail(ErrorKind::kInternal, "zlib failed to compress");
  return packed;
}

std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::size_t max_bytes) {
  Inflater inflater(bytes, Wrapper::kGzip);
  return unpack(inflater, max_bytes);
}

std::vector<std::byte> inflate(std::span<const std::byte> bytes, std::size_t max_bytes) {
  Inflater inflater(bytes, Wrapper::kNone);
  return unpack(inflater, max_bytes);
}

std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace halftone
