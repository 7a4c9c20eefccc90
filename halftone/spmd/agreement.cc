// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/agreement.h"

#include <algorithm>

#include "halftone/base/hash.h"

namespace halftone::spmd::internal {

std::uint64_t hash(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.value();
}

std::vector<Header> all_headers(Transport& transport, const Header& mine) {
  std::vector<Header> headers(transport.num_ranks());
  transport.all_gather(std::as_bytes(std::span(&mine, 1)),
                       std::as_writable_bytes(std::span(headers)));
  return headers;
}

std::vector<std::vector<std::byte>> all_bytes(Transport& transport,
                                              std::span<const std::byte> mine) {
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(transport.num_ranks());
  transport.all_gather(std::as_bytes(std::span(&size, 1)),
                       std::as_writable_bytes(std::span(sizes)));
  const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::byte> padded(mine.begin(), mine.end());
  padded.resize(longest);
  std::vector<std::byte> all(longest * sizes.size());
  transport.all_gather(padded, all);
  std::vector<std::vector<std::byte>> result;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * longest);
    result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(sizes[r]));
  }
  return result;
}

std::optional<std::string> difference(Transport& transport, const std::vector<Header>& headers,
                                      const std::string& program) {
  const auto other = std::find_if(headers.begin(), headers.end(), [&headers](const Header& h) {
    return h.program != headers.front().program;
  });
  if (other == headers.end()) return std::nullopt;
  const auto texts = all_bytes(transport, std::as_bytes(std::span(program)));
  const auto text_of = [&texts](std::size_t rank) {
    return "rank " + std::to_string(rank) + " in " +
           std::string(reinterpret_cast<const char*>(texts[rank].data()), texts[rank].size());
  };
  return "ranks do not run the same: " + text_of(0) + ", " +
         text_of(static_cast<std::size_t>(other - headers.begin()));
}

}  // namespace halftone::spmd::internal
