// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/groups.h"

#include <array>
#include <cstring>

#include "halftone/base/error.h"
#include "halftone/gpu/launches.h"
#include "halftone/gpu/texts.h"
#include "halftone/kernels/groups/group_layout.h"
#include "halftone/kernels/groups/vector_tables.h"

namespace halftone::gpu {
namespace {

using kernels::GroupCodes;
using numerics::GroupScales;

constexpr std::size_t kBlockRows = 16;  ///< ROWS and LANES of text/groups.cl
constexpr std::size_t kBlockLanes = 16;
constexpr std::size_t kManyRows = 8;  ///< X_ROWS
constexpr std::size_t kByteValues = 256;

/// How scales are stored: SCALES of text/groups.cl.
int scale_form(GroupScales scales) {
  switch (scales) {
    case GroupScales::kHalf:
      return 0;
    case GroupScales::kHalfTimesByte:
      return 1;
    case GroupScales::kPowerOfTwo:
    case GroupScales::kE3m5:
    case GroupScales::kE4m3:
      return 2;
    case GroupScales::kFloat:
      return 3;
  }
  fail(ErrorKind::kInternal, "group scales: no such storage");
}

std::string define(const char* name, long long value) {
  return "#define " + std::string(name) + " (" + std::to_string(value) + ")\n";
}

std::string level_macros(const GroupCodes& format) {
  if (format.basis != nullptr) return define("IS_BYTES", 0);
  if (format.levels.table) {
    std::string list;
    for (const int level : *format.levels.table) list += std::to_string(level) + ",";
    return "#define LEVELS {" + list + "}\n" + define("IS_BYTES", 0);
  }
  const bool are_bytes = format.levels.bits == 8;
  return define("IS_BYTES", are_bytes ? 1 : 0) + define("STEP", format.levels.step()) +
         define("FIRST", format.levels.first + (are_bytes ? 128 : 0));
}

/// The scales of all bytes, [256]; one float if scales are no bytes of their own.
std::vector<float> scale_table(const kernels::ScaleForm& form) {
  if (scale_form(form.how) != 2) return {0};
  std::vector<float> table;
  for (std::size_t byte = 0; byte < kByteValues; ++byte) {
    const auto stored = static_cast<std::uint8_t>(byte);
    std::array<float, 1> scale{};
    kernels::load_group_scales(form, &stored, 0, scale);
    table.push_back(scale[0]);
  }
  return table;
}

std::span<const std::byte> codewords_of(const GroupCodes& format) {
  static constexpr std::byte kNone[4] = {};
  if (format.basis == nullptr) return kNone;
  return std::as_bytes(format.basis->codewords());
}

std::string group_text(const GroupCodes& format, std::size_t piece) {
  return program_text(group_macros(format, piece), {"groups"});
}

}  // namespace

std::string group_macros(const GroupCodes& format, std::size_t piece) {
  const kernels::PlaneBits bits = kernels::plane_bits(format);
  return define("LOW", bits.low) + define("HIGH", bits.high) + define("SIGNS", bits.signs) +
         define("VECTOR", static_cast<long long>(format.vector())) +
         define("GROUP", static_cast<long long>(format.group)) +
         define("PIECE", static_cast<long long>(piece)) +
         define("SCALES", scale_form(format.scales)) +
         define("HAS_OFFSETS", format.has_offsets ? 1 : 0) + level_macros(format);
}

GroupMatrix::GroupMatrix(Programs& programs, const kernels::PackedGroups& weights)
    : rows_(weights.rows()), extents_(weights.extents()) {
  Device& device = programs.device();
  if (weights.num_strips() != 0) strip_bytes_ = weights.size_bytes() / weights.num_strips();
  if (weights.num_blocks() != 0) block_bytes_ = weights.layout(0).bytes;
  number(rows_);
  number(extents_.padded_cols());
  number(strip_bytes_);
  weights_ = device.allocate(weights.size_bytes());
  if (rows_ != 0) {
    device.write(*weights_, 0, std::as_bytes(std::span(weights.strip(0), weights.size_bytes())));
  }
  scale_table_ = upload(device, std::span<const float>(scale_table(weights.scale_storage())));
  codewords_ = upload(device, codewords_of(weights.format()));
  const std::string text = group_text(weights.format(), extents_.piece());
  multiply_ = &programs.kernel(text, "multiply_groups");
  multiply_many_ = &programs.kernel(text, "multiply_many");
  multiply_experts_ = &programs.kernel(text, "multiply_experts");
  decode_ = &programs.kernel(text, "decode_rows");
}

GroupInputs::GroupInputs(Programs& programs, std::size_t rows, const kernels::GroupExtents& extents)
    : rows_(rows), extents_(extents) {
  Device& device = programs.device();
  codes_ = device.allocate(rows * extents.padded_cols());
  const std::size_t piece_bytes = rows * extents.num_pieces() * sizeof(float);
  scales_ = device.allocate(piece_bytes);
  shares_ = device.allocate(piece_bytes);
  sums_ = device.allocate(piece_bytes);
  const std::string macros = define("ENCODING", static_cast<long long>(extents.encoding())) +
                             define("PIECE", static_cast<long long>(extents.piece()));
  encode_ = &programs.kernel(program_text(macros, {"encode_groups"}), "encode_groups");
}

Launch GroupInputs::encode(const Buffer& x) const {
  const std::size_t encodings =
      (extents_.padded_cols() + extents_.encoding() - 1) / extents_.encoding();
  return {encode_,
          {(encodings + kThreads - 1) / kThreads, rows_, kThreads},
          {x, *codes_, *scales_, *shares_, *sums_, number(extents_.cols),
           number(extents_.padded_cols())}};
}

Launch multiply_groups(const GroupMatrix& w, const GroupInputs& x, const Buffer& y) {
  if (x.rows() >= kManyRows) {
    Grid grid = {(w.rows_ + kernels::kStripRows - 1) / kernels::kStripRows,
                 (x.rows() + kManyRows - 1) / kManyRows, kernels::kStripRows};
    return {w.multiply_many_,
            grid,
            {*w.weights_, *w.scale_table_, *w.codewords_, x.codes(), x.scales(), x.shares(),
             x.sums(), y, number(w.rows_), number(w.extents_.padded_cols()), number(w.strip_bytes_),
             number(w.block_bytes_), number(x.rows())}};
  }
  return {w.multiply_,
          {(w.rows_ + kBlockRows - 1) / kBlockRows, x.rows(), kBlockRows * kBlockLanes},
          {*w.weights_, *w.scale_table_, *w.codewords_, x.codes(), x.scales(), x.shares(), x.sums(),
           y, number(w.rows_), number(w.extents_.padded_cols()), number(w.strip_bytes_),
           number(w.block_bytes_)}};
}

Launch multiply_experts(const GroupMatrix& w, const GroupInputs& x, const ExpertPairs& pairs,
                        const Buffer& y) {
  const std::size_t share = x.rows() == 0 ? 1 : pairs.count / x.rows();
  return {w.multiply_experts_,
          {(pairs.outputs + kBlockRows - 1) / kBlockRows, pairs.count, kBlockRows * kBlockLanes},
          {*w.weights_, *w.scale_table_, *w.codewords_, x.codes(), x.scales(), x.shares(), x.sums(),
           y, number(pairs.outputs), number(w.extents_.padded_cols()), number(w.strip_bytes_),
           number(w.block_bytes_), pairs.experts, number(share)}};
}

Launch decode_rows(const GroupMatrix& table, const Buffer& ids, std::size_t count,
                   const Buffer& y) {
  const std::size_t quads = (table.extents_.cols + 3) / 4;
  return {table.decode_,
          {(quads + kThreads - 1) / kThreads, count, kThreads},
          {*table.weights_, *table.scale_table_, *table.codewords_, ids, y,
           number(table.extents_.cols), number(table.extents_.padded_cols()),
           number(table.strip_bytes_), number(table.block_bytes_)}};
}

}  // namespace halftone::gpu
