// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/groups.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

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

std::string define_whole(const char* name, long long value) {
  return "#define " + std::string(name) + " (" + std::to_string(value) + ")\n";
}

std::string level_macros(const GroupCodes& format) {
  if (format.basis != nullptr) return define_whole("IS_BYTES", 0);
  if (format.levels.table) {
    std::string list;
    for (const int level : *format.levels.table) list += std::to_string(level) + ",";
    return "#define LEVELS {" + list + "}\n" + define_whole("IS_BYTES", 0);
  }
  const bool are_bytes = format.levels.bits == 8;
  return define_whole("IS_BYTES", are_bytes ? 1 : 0) + define_whole("STEP", format.levels.step()) +
         define_whole("FIRST", format.levels.first + (are_bytes ? 128 : 0));
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

constexpr std::size_t kChunkSteps = 32;

}  // namespace

std::string group_macros(const GroupCodes& format, std::size_t piece) {
  const kernels::PlaneBits bits = kernels::plane_bits(format);
  return define_whole("LOW", bits.low) + define_whole("HIGH", bits.high) +
         define_whole("SIGNS", bits.signs) +
         define_whole("VECTOR", static_cast<long long>(format.vector())) +
         define_whole("GROUP", static_cast<long long>(format.group)) +
         define_whole("PIECE", static_cast<long long>(piece)) +
         define_whole("ENCODING",
                      static_cast<long long>(kernels::GroupExtents{0, format.group}.encoding())) +
         define_whole(
             "CHUNK_INPUTS",
             static_cast<long long>(kChunkSteps * std::max(piece, kernels::kGroupUnitInputs))) +
         define_whole("SCALES", scale_form(format.scales)) +
         define_whole("HAS_OFFSETS", format.has_offsets ? 1 : 0) + level_macros(format);
}

std::string group_text(const std::string& macros, Function f) {
  const std::string all = macros + function_macro(f);
  if (f == Function::kNone) return program_text(all, {"tails", "groups"});
  return program_text(all, {"elementary", "tails", "groups"});
}

std::string encoding_group_text(const std::string& macros, Function f) {
  const std::string all = macros + function_macro(f) + "#define ENCODES\n";
  if (f == Function::kNone) return program_text(all, {"tails", "encode_chunk", "groups"});
  return program_text(all, {"elementary", "tails", "encode_chunk", "groups"});
}

std::string tile_group_text(const std::string& macros, Function f, const std::string& units) {
  const std::string all = units + macros + function_macro(f);
  if (f == Function::kNone) return program_text(all, {"tails", "groups", "tiles"});
  return program_text(all, {"elementary", "tails", "groups", "tiles"});
}

bool has_tiles(const DeviceInfo& info) {
  constexpr std::string_view kHead = "sm_";
  constexpr int kLeast = 75;
  if (info.api != Api::kCuda || !info.target.starts_with(kHead)) return false;
  int version = 0;
  std::from_chars(info.target.data() + kHead.size(), info.target.data() + info.target.size(),
                  version);
  return version >= kLeast;
}

bool GroupMatrix::can_join(const kernels::PackedGroups& a, const kernels::PackedGroups& b) {
  const std::size_t piece = a.extents().piece();
  return a.cols() == b.cols() && piece == b.extents().piece() &&
         group_macros(a.format(), piece) == group_macros(b.format(), piece) &&
         scale_table(a.scale_storage()) == scale_table(b.scale_storage()) &&
         std::ranges::equal(codewords_of(a.format()), codewords_of(b.format()));
}

GroupMatrix::GroupMatrix(Programs& programs, std::span<const kernels::PackedGroups> parts)
    : programs_(&programs), extents_(parts[0].extents()) {
  GpuDevice& device = programs.device();
  const kernels::PackedGroups& first = parts[0];
  std::size_t strips = 0;
  std::size_t bytes = 0;
  for (const kernels::PackedGroups& part : parts) {
    first_rows_.push_back(strips * kernels::kStripRows);
    rows_ = strips * kernels::kStripRows + part.rows();
    strips += part.num_strips();
    bytes += part.size_bytes();
  }
  if (strips != 0) strip_bytes_ = bytes / strips;
  if (first.num_blocks() != 0) block_bytes_ = first.layout(0).bytes;
  number(rows_);
  number(extents_.padded_cols());
  number(strip_bytes_);
  weights_ = device.allocate(bytes);
  std::size_t offset = 0;
  for (const kernels::PackedGroups& part : parts) {
    if (part.rows() == 0) continue;
    device.write(*weights_, offset, std::as_bytes(std::span(part.strip(0), part.size_bytes())));
    offset += part.size_bytes();
  }
  scale_table_ = upload(device, std::span<const float>(scale_table(first.scale_storage())));
  codewords_ = upload(device, codewords_of(first.format()));
  macros_ = group_macros(first.format(), extents_.piece());
}

GroupInputs::GroupInputs(Programs& programs, std::size_t rows, const kernels::GroupExtents& extents)
    : rows_(rows), extents_(extents) {
  GpuDevice& device = programs.device();
  codes_ = device.allocate(rows * extents.padded_cols());
  const std::size_t piece_bytes = rows * extents.num_pieces() * sizeof(float);
  scales_ = device.allocate(piece_bytes);
  shares_ = device.allocate(piece_bytes);
  sums_ = device.allocate(piece_bytes);
  const std::string macros = define_whole("ENCODING", static_cast<long long>(extents.encoding())) +
                             define_whole("PIECE", static_cast<long long>(extents.piece()));
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

/// The launch of a product: its kernel, and the arguments that all have.
class ProductLaunch {
 public:
  ProductLaunch(const GroupMatrix& w, const ProductInput& x) : w_(w), x_(x) {
    const GroupInputs* encoded = x.encoded_;
    launch_.arguments = {*w.weights_, *w.scale_table_, *w.codewords_};
    add(encoded != nullptr ? encoded->codes() : *x.floats_);
    add(encoded != nullptr ? encoded->scales() : *x.floats_);
    add(encoded != nullptr ? encoded->shares() : *x.floats_);
    add(encoded != nullptr ? encoded->sums() : *x.floats_);
    add(number(w.extents_.cols));
  }
  void add(KernelArgument argument) { launch_.arguments.push_back(argument); }
  /// Where the outputs go, and what kernels know of the weights.
  void add_output(const Buffer& y, std::size_t outputs) {
    add(y);
    add(number(outputs));
    add(number(w_.extents_.padded_cols()));
    add(number(w_.strip_bytes_));
    add(number(w_.block_bytes_));
  }
  void add_tails(const Tails& tails) {
    f_ = function_of(tails);
    gpu::add_tails(launch_.arguments, tails, *w_.scale_table_);
  }
  [[nodiscard]] Launch of(const char* kernel, const Grid& grid) {
    return of(
        kernel, grid,
        x_.encoded_ == nullptr ? encoding_group_text(w_.macros_, f_) : group_text(w_.macros_, f_));
  }
  [[nodiscard]] Launch of_tiles(std::size_t rows, const std::string& units) {
    constexpr std::size_t kThreadsOfStrip = 128;  // four warps of 16 outputs
    constexpr std::size_t kRowsOfBlock = 64;      // BLOCK_X_ROWS of text/tiles.cl
    return of("multiply_tiles",
              {w_.strips(), (rows + kRowsOfBlock - 1) / kRowsOfBlock, kThreadsOfStrip},
              tile_group_text(w_.macros_, f_, units));
  }
  [[nodiscard]] bool can_tile() const { return has_tiles(w_.programs_->device().info()); }
  void set_function(Function f) { f_ = f; }
  /// 16 outputs of a row for each block.
  [[nodiscard]] static Grid grid_of_rows(std::size_t outputs, std::size_t rows) {
    return {(outputs + kBlockRows - 1) / kBlockRows, rows, kBlockRows * kBlockLanes};
  }

 private:
  Launch of(const char* kernel, const Grid& grid, const std::string& text) {
    launch_.kernel = &w_.programs_->kernel(text, kernel);
    launch_.grid = grid;
    return std::move(launch_);
  }

  const GroupMatrix& w_;
  const ProductInput& x_;
  Function f_ = Function::kNone;
  Launch launch_;
};

Launch multiply_groups(const GroupMatrix& w, const ProductInput& x, const Buffer& y,
                       const Tails& tails) {
  ProductLaunch launch(w, x);
  launch.add_output(y, w.rows());
  if (x.rows() < kManyRows) {
    launch.add_tails(tails);
    return launch.of("multiply_groups", ProductLaunch::grid_of_rows(w.rows(), x.rows()));
  }
  launch.add(number(x.rows()));
  launch.add_tails(tails);
  if (launch.can_tile()) return launch.of_tiles(x.rows(), "");
  return launch.of("multiply_many",
                   {w.strips(), (x.rows() + kManyRows - 1) / kManyRows, kernels::kStripRows});
}

Launch multiply_tiles(const GroupMatrix& w, const GroupInputs& x, const Buffer& y,
                      const Tails& tails, const std::string& units) {
  const ProductInput input(x);
  ProductLaunch launch(w, input);
  launch.add_output(y, w.rows());
  launch.add(number(x.rows()));
  launch.add_tails(tails);
  return launch.of_tiles(x.rows(), units);
}

Launch multiply_gated(const GroupMatrix& w, const ProductInput& x, const Gate& gate,
                      const Buffer& y) {
  ProductLaunch launch(w, x);
  launch.add_output(y, gate.outputs);
  launch.add(number(gate.up_row));
  launch.set_function(gate.f);
  return launch.of("multiply_gated", ProductLaunch::grid_of_rows(gate.outputs, x.rows()));
}

Launch multiply_experts(const GroupMatrix& w, const ProductInput& x, const ExpertPairs& pairs,
                        const Buffer& y, const Tails& tails) {
  ProductLaunch launch(w, x);
  launch.add_output(y, pairs.outputs);
  launch.add_tails(tails);
  launch.add(pairs.experts);
  launch.add(number(x.rows() == 0 ? 1 : pairs.count / x.rows()));
  return launch.of("multiply_experts", ProductLaunch::grid_of_rows(pairs.outputs, pairs.count));
}

Launch decode_rows(const GroupMatrix& table, const Buffer& ids, std::size_t count,
                   const Buffer& y) {
  const std::size_t quads = (table.extents_.cols + 3) / 4;
  return {&table.programs_->kernel(group_text(table.macros_), "decode_rows"),
          {(quads + kThreads - 1) / kThreads, count, kThreads},
          {*table.weights_, *table.scale_table_, *table.codewords_, ids, y,
           number(table.extents_.cols), number(table.extents_.padded_cols()),
           number(table.strip_bytes_), number(table.block_bytes_)}};
}

}  // namespace halftone::gpu
