// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/llama2c.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/model/architectures.h"

namespace halftone::lm {
namespace {

using Extents = std::vector<std::size_t>;

constexpr std::size_t kHeadBytes = 7 * sizeof(std::int32_t);

/// Takes tensors in the order of the file.
class Llama2cParser {
 public:
  explicit Llama2cParser(const SharedBytes& file) : file_(file) {}

  Llama2cFile parse() {
    read_head();
    const Description& d = result_.description;
    const std::size_t kv_width = d.kv_heads * d.head_width;
    add("token_embd", {d.vocabulary, d.width});
    add_blocks("attn_norm", {d.width});
    add_blocks("attn_q", {d.width, d.width});
    add_blocks("attn_k", {kv_width, d.width});
    add_blocks("attn_v", {kv_width, d.width});
    add_blocks("attn_output", {d.width, d.width});
    add_blocks("ffn_norm", {d.width});
    add_blocks("ffn_gate", {d.inner, d.width});
    add_blocks("ffn_down", {d.width, d.inner});
    add_blocks("ffn_up", {d.inner, d.width});
    add("output_norm", {d.width});
    take({2, d.context, d.head_width / 2});  // angles of positions, which follow from the head
    if (!d.ties_embeddings) add("output", {d.vocabulary, d.width});
    if (begin_ != file_.bytes.size()) {
      fail(ErrorKind::kFormat, "llama2.c checkpoint: expected " + std::to_string(begin_) +
                                   " bytes, found " + std::to_string(file_.bytes.size()));
    }
    return std::move(result_);
  }

 private:
  /// The seven numbers.
  [[nodiscard]] std::array<std::int32_t, 7> head_numbers() const {
    std::array<std::int32_t, 7> head{};
    if (file_.bytes.size() < kHeadBytes) {
      fail(ErrorKind::kFormat, "llama2.c checkpoint: expected a head of " +
                                   std::to_string(kHeadBytes) + " bytes, found " +
                                   std::to_string(file_.bytes.size()));
    }
    std::memcpy(head.data(), file_.bytes.data(), kHeadBytes);
    for (std::size_t i = 0; i < head.size(); ++i) {
      const bool may_be_negative = i == 5;
      if (head[i] > 0 || (may_be_negative && head[i] < 0 && head[i] > INT32_MIN)) continue;
      fail(ErrorKind::kFormat, "llama2.c checkpoint: number " + std::to_string(i) +
                                   " of the head: expected one above 0, found " +
                                   std::to_string(head[i]));
    }
    return head;
  }

  void read_head() {
    const auto head = head_numbers();
    const auto number = [&](std::size_t i) { return static_cast<std::size_t>(head[i]); };
    const Architecture& architecture = architecture_of_gguf("llama");
    Description& d = result_.description;
    d = start_description(architecture);
    d.pairing = Pairing::kInterleaved;
    d.width = number(0);
    d.inner = number(1);
    d.blocks = number(2);
    d.heads = number(3);
    d.kv_heads = number(4);
    d.ties_embeddings = head[5] > 0;
    d.vocabulary = d.ties_embeddings ? number(5) : static_cast<std::size_t>(-head[5]);
    d.context = number(6);
    if (d.width % d.heads != 0) {
      fail(ErrorKind::kFormat, "llama2.c checkpoint: " + std::to_string(d.heads) +
                                   " heads do not divide the width " + std::to_string(d.width));
    }
    d.head_width = d.width / d.heads;
    complete(d, architecture);
    check(d);
  }

  SharedBytes take(const Extents& shape) {
    std::size_t bytes = sizeof(float);  // below 2^64: check() bounds each extent by 2^31
    for (const std::size_t extent : shape) bytes *= extent;
    if (bytes > file_.bytes.size() - begin_) {
      fail(ErrorKind::kFormat, "llama2.c checkpoint: ends before its last tensor");
    }
    SharedBytes part = file_.part(begin_, bytes);
    begin_ += bytes;
    return part;
  }
  void add(const std::string& name, const Extents& shape) {
    result_.tensors.push_back({name + ".weight", shape, take(shape)});
  }
  void add_blocks(const std::string& name, const Extents& shape) {
    for (std::size_t i = 0; i < result_.description.blocks; ++i) {
      add("blk." + std::to_string(i) + "." + name, shape);
    }
  }

  const SharedBytes& file_;
  std::size_t begin_ = kHeadBytes;
  Llama2cFile result_;
};

}  // namespace

Llama2cFile parse_llama2c(const SharedBytes& file) { return Llama2cParser(file).parse(); }

}  // namespace halftone::lm
