// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile files give an Error of the right kind, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/file_model.h"
#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

struct Damage {
  const char* text;  ///< part of the message
  ErrorKind kind;
  std::function<void(schema::ModelT&)> edit;
};

void expect_errors(std::span<const std::byte> bytes, const std::vector<Damage>& damages) {
  ASSERT_NO_THROW(import_circle(bytes));
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.text);
    const auto damaged = edited(bytes, damage.edit);
    expect_error(damage.kind, damage.text, [&] { import_circle(damaged); });
  }
}

schema::SubGraphT& graph(schema::ModelT& model) { return *model.subgraphs[0]; }
schema::OperatorT& op(schema::ModelT& model, std::size_t i) { return *graph(model).operators[i]; }
schema::TensorT& tensor(schema::ModelT& model, const std::string& name) {
  for (auto& each : graph(model).tensors) {
    if (each->name == name) return *each;
  }
  throw std::out_of_range(name);
}

TEST(MalformedFile, IsRefusedAtEveryTruncation) {
  for (const auto& network : {small_network(), small_lowbit_network()}) {
    const auto bytes = export_circle(network, CircleFlavor::kCircle);
    std::size_t imported = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // A copy of exactly this size, so that a sanitizer sees any read past its end.
      const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
      try {
        import_circle(cut);
        ++imported;
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::kInternal) << error.what();
      }
    }
    // Only trailing padding may be missing.
    EXPECT_LE(imported, 16U);
  }
}

TEST(MalformedFile, SurvivesRandomBitFlips) {
  Random random(2);
  for (const auto& network : {small_network(), small_lowbit_network()}) {
    const auto bytes = export_circle(network, CircleFlavor::kCircle);
    for (int round = 0; round < 4000; ++round) {
      auto damaged = bytes;
      for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
        damaged[random.below(damaged.size())] ^= std::byte{1} << random.below(8);
      }
      try {
        const ir::Graph graph = import_circle(damaged);
        export_circle(graph, CircleFlavor::kCircle);
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::kInternal) << error.what();
      }
    }
  }
}

TEST(MalformedFile, IsRefusedWithoutAnIdentifier) {
  EXPECT_STREQ(error_of([] { import_circle(std::span<const std::byte>()); }).what(),
               "TFLite or circle: expected at least 8 bytes, found 0");
  auto bytes = export_circle(small_network(), CircleFlavor::kTflite);
  bytes[4] = std::byte{'X'};
  EXPECT_STREQ(error_of([&] { import_circle(bytes); }).what(),
               "expected the file identifier TFL3 or CIR0, found neither");
}

TEST(MalformedFile, IsReadFromAnyAddress) {
  const auto bytes = export_circle(small_network(), CircleFlavor::kTflite);
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::vector<std::byte> moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    expect_same_function(import_circle(std::span(moved).subspan(shift)), small_network());
  }
}

TEST(MalformedFile, InconsistentTablesAreRejected) {
  std::vector<std::byte> bytes(64);
  std::ranges::copy(std::as_bytes(std::span("TFL3").first(4)), bytes.begin() + 4);
  EXPECT_STREQ(error_of([&] { import_circle(bytes); }).what(),
               "damaged: the tables of the file are inconsistent");
}

TEST(MalformedFile, IndicesOutOfRangeAreRefused) {
  const auto bytes = export_circle(small_network(), CircleFlavor::kTflite);
  const auto kind = ErrorKind::kFormat;
  expect_errors(
      bytes, {{"subgraphs: expected an index below 0", kind, [](auto& m) { m.subgraphs.clear(); }},
              {"the graph has no tensors", kind,
               [](auto& m) {
                 graph(m).tensors.clear();
                 graph(m).operators.clear();
               }},
              {"inputs of the graph: expected an index below", kind,
               [](auto& m) { graph(m).inputs[0] = 99; }},
              {"inputs of the graph: expected an index below", kind,
               [](auto& m) { graph(m).inputs[0] = -1; }},
              {"outputs of the graph: expected an index below", kind,
               [](auto& m) { graph(m).outputs[0] = std::numeric_limits<std::int32_t>::max(); }},
              {"inputs: expected an index below", kind, [](auto& m) { op(m, 0).inputs[1] = 99; }},
              {"inputs: expected an index below", kind, [](auto& m) { op(m, 0).inputs[1] = -2; }},
              {"outputs: expected an index below", kind, [](auto& m) { op(m, 0).outputs[0] = -1; }},
              {"operator codes: expected an index below", kind,
               [](auto& m) { op(m, 0).opcode_index = 77; }},
              {"buffers: expected an index below", kind,
               [](auto& m) { tensor(m, "dense1.kernel").buffer = 1000000; }},
              {"the graph has no outputs", kind, [](auto& m) { graph(m).outputs.clear(); }},
              {"the graph has no inputs", kind, [](auto& m) {
                 graph(m).inputs.clear();
                 graph(m).operators.clear();
                 graph(m).outputs = {1};
               }}});
}

TEST(MalformedFile, WrongOrderAndDuplicateDefinitionsAreRejected) {
  const auto bytes = export_circle(small_network(), CircleFlavor::kTflite);
  const auto kind = ErrorKind::kFormat;
  expect_errors(
      bytes,
      {{"is read before it is computed: a cycle or a wrong order", kind,
        [](auto& m) { op(m, 0).inputs[0] = op(m, 2).outputs[0]; }},
       {"is defined twice", kind, [](auto& m) { op(m, 1).outputs = op(m, 0).outputs; }},
       {"is defined twice", kind, [](auto& m) { op(m, 1).outputs[0] = graph(m).inputs[0]; }},
       {"appears twice", kind, [](auto& m) { graph(m).inputs.push_back(graph(m).inputs[0]); }},
       {"has no outputs", kind, [](auto& m) { op(m, 1).outputs.clear(); }},
       {"has more outputs than the operator computes", kind,
        [](auto& m) {
          auto spare = std::make_unique<schema::TensorT>();
          graph(m).tensors.push_back(std::move(spare));
          op(m, 2).outputs.push_back(static_cast<std::int32_t>(graph(m).tensors.size() - 1));
        }},
       {"input 0 is absent", kind, [](auto& m) { op(m, 0).inputs[0] = -1; }},
       {"input 1 is absent", kind, [](auto& m) { op(m, 0).inputs.resize(1); }},
       {"no operator computes it and it has no data", kind,
        [](auto& m) { tensor(m, "dense1.kernel").buffer = 0; }}});
}

TEST(MalformedFile, ShapesAndBuffersThatDisagreeAreRefused) {
  const auto bytes = export_circle(small_network(), CircleFlavor::kTflite);
  constexpr auto kLarge = std::numeric_limits<std::int32_t>::max();
  expect_errors(
      bytes,
      {{"tensor 'dense1.kernel': shape [5, 7]: expected 140 bytes, found 120", ErrorKind::kFormat,
        [](auto& m) {
          tensor(m, "dense1.kernel").shape = {5, 7};
        }},
       {"expected extents of at least 0, found -5", ErrorKind::kFormat,
        [](auto& m) {
          tensor(m, "dense1.kernel").shape = {-5, 6};
        }},
       {"expected at most 2^40 elements", ErrorKind::kShape,
        [](auto& m) {
          tensor(m, "dense1.kernel").shape = {kLarge, kLarge, kLarge};
        }},
       {"expected at most 32 axes, found 33", ErrorKind::kFormat,
        [](auto& m) { tensor(m, "dense1.kernel").shape = std::vector<std::int32_t>(33, 1); }},
       {"elements of type 5 (STRING)", ErrorKind::kUnsupported,
        [](auto& m) { tensor(m, "dense1.kernel").type = schema::TensorType::STRING; }},
       {"input 'pixels': elements of type COMPLEX64", ErrorKind::kUnsupported,
        [](auto& m) { tensor(m, "pixels").type = schema::TensorType::COMPLEX64; }},
       {"does not fit weights", ErrorKind::kShape,
        [](auto& m) {
          tensor(m, "pixels").shape = {1, 9};
          tensor(m, "pixels").shape_signature.clear();
        }},
       {"computed as float32[N, 5], stored as INT64", ErrorKind::kUnsupported,
        [](auto& m) { tensor(m, "dense1").type = schema::TensorType::INT64; }},
       {"options of another operator", ErrorKind::kFormat,
        [](auto& m) { op(m, 0).builtin_options.Set(schema::SoftmaxOptionsT()); }},
       {"activation: expected 0 to 5, found 9", ErrorKind::kFormat,
        [](auto& m) {
          op(m, 0).builtin_options.AsFullyConnectedOptions()->fused_activation_function =
              schema::ActivationFunctionType{9};
        }},
       {"beta: expected a finite number", ErrorKind::kFormat,
        [](auto& m) {
          op(m, 2).builtin_options.AsSoftmaxOptions()->beta =
              std::numeric_limits<float>::quiet_NaN();
        }},
       {"variables that persist between inferences", ErrorKind::kUnsupported,
        [](auto& m) { tensor(m, "dense1.kernel").is_variable = true; }},
       {"expected a level for each axis", ErrorKind::kFormat, [](auto& m) {
          tensor(m, "dense1.kernel").sparsity = std::make_unique<schema::SparsityParametersT>();
        }}});
}

TEST(MalformedFile, InvalidScalesAreRejected) {
  const auto bytes = export_circle(small_network(), CircleFlavor::kTflite);
  const auto quantized = [](auto set) {
    return [set](schema::ModelT& m) {
      auto& weights = tensor(m, "dense1.kernel");
      weights.type = schema::TensorType::INT8;
      weights.shape = {20, 6};
      weights.quantization = std::make_unique<schema::QuantizationParametersT>();
      weights.quantization->scale = {1};
      set(*weights.quantization);
    };
  };
  using Parameters = schema::QuantizationParametersT;
  expect_errors(
      bytes,
      {{"scale: expected a positive number, found 0", ErrorKind::kFormat,
        quantized([](Parameters& p) { p.scale = {0}; })},
       {"scale: expected a positive number, found NaN", ErrorKind::kFormat,
        quantized([](Parameters& p) { p.scale = {std::numeric_limits<float>::quiet_NaN()}; })},
       {"3 scales do not fit axis 0 of [20, 6]", ErrorKind::kFormat, quantized([](Parameters& p) {
          p.scale = {1, 2, 3};
        })},
       {"6 scales do not fit axis -1 of [20, 6]", ErrorKind::kFormat, quantized([](Parameters& p) {
          p.scale = {1, 2, 3, 4, 5, 6};
          p.quantized_dimension = -1;
        })},
       {"expected a zero point for each of 1 scales, found 2", ErrorKind::kFormat,
        quantized([](Parameters& p) {
          p.zero_point = {1, 2};
        })},
       {"zero point: expected 32 bits, found 4294967296", ErrorKind::kFormat,
        quantized([](Parameters& p) { p.zero_point = {std::int64_t{1} << 32}; })},
       {"a quantization that is not affine", ErrorKind::kUnsupported,
        quantized([](Parameters& p) { p.details_type = 2; })},
       {"expected float32 or quantized numbers, found int8", ErrorKind::kUnsupported,
        quantized([](Parameters& p) { p.scale.clear(); })}});
}

TEST(MalformedFile, DamagedLowBitLayersAreRefused) {
  const auto bytes = export_circle(small_lowbit_network(), CircleFlavor::kCircle);
  const auto kind = ErrorKind::kFormat;
  const auto options = [](auto set) {
    return [set](schema::ModelT& m) {
      const auto raw = std::as_bytes(std::span(op(m, 1).custom_options));
      LowBitFields changed = read_custom_options(raw);
      set(changed);
      const auto written = write_custom_options(changed);
      const auto* data = reinterpret_cast<const std::uint8_t*>(written.data());
      op(m, 1).custom_options.assign(data, data + written.size());
    };
  };
  expect_errors(bytes,
                {{"expected 5 inputs, found 4", kind, [](auto& m) { op(m, 0).inputs.pop_back(); }},
                 {"expected 5 inputs, found 4", kind, [](auto& m) { op(m, 1).inputs.pop_back(); }},
                 {"has no options", kind, [](auto& m) { op(m, 0).builtin_options.Reset(); }},
                 {"weights_hidden_size: expected a positive number, found -3", kind,
                  [](auto& m) {
                    op(m, 0).builtin_options.AsLQFullyConnectedOptions()->weights_hidden_size = -3;
                  }},
                 {"binary weights [9, 2, 2] do not fit 65 inputs", kind,
                  [](auto& m) {
                    op(m, 0).builtin_options.AsLQFullyConnectedOptions()->weights_hidden_size = 65;
                  }},
                 {"does not fit weights [9, 36]", ErrorKind::kShape,
                  [](auto& m) {
                    op(m, 0).builtin_options.AsLQFullyConnectedOptions()->weights_hidden_size = 36;
                  }},
                 {"do not fit binary weights [18, 2]", kind,
                  [](auto& m) {
                    tensor(m, "w1").shape = {18, 2};
                  }},
                 {"input 3: expected constant numbers of int32", kind,
                  [](auto& m) { op(m, 0).inputs[3] = op(m, 0).inputs[2]; }},
                 {"input 1: expected constant numbers of float32", kind,
                  [](auto& m) { op(m, 0).inputs[1] = op(m, 0).inputs[3]; }},
                 {"options: expected at most 4096 bytes, found 0", kind,
                  [](auto& m) { op(m, 1).custom_options.clear(); }},
                 {"bit planes: expected uint8 [outputs, 2, 2] for 9 inputs, found uint8[4, 3, 2]",
                  kind, options([](LowBitFields& o) { o.weight_bits = 2; })},
                 {"bit planes: expected uint8 [outputs, 3, 3] for 17 inputs, found uint8[4, 3, 2]",
                  kind, options([](LowBitFields& o) { o.inputs = 17; })},
                 {"a matrix of 4 x 9 needs 24 coefficients, found 36", ErrorKind::kFormat,
                  options([](LowBitFields& o) { o.group_size = 8; })},
                 {"scales of the input: expected rows of 2 numbers, found [3]", kind,
                  options([](LowBitFields& o) { o.activation_offset = false; })}});
}

TEST(MalformedFile, DamagedTablesOfCodesAreRefused) {
  ir::Graph network;
  const auto tokens =
      network.add_input("tokens", ir::dense_type(ir::ElementType::kInt32, {ir::kBatch}));
  const auto table = network.add_constant(
      "table", ir::EncodedTensor{{6, 9}, ir::test::odd_encoding(), numerics::BitPlanes(6, 9, 2)});
  network.add_output(network.add_node("rows", ir::Gather{0}, {table, tokens}));
  const auto bytes = export_circle(network, CircleFlavor::kTflite);
  const auto kind = ErrorKind::kFormat;
  const auto options = [](auto set) {
    return [set](schema::ModelT& m) {
      LowBitFields changed = read_custom_options(std::as_bytes(std::span(op(m, 0).custom_options)));
      set(changed);
      const auto written = write_custom_options(changed);
      const auto* data = reinterpret_cast<const std::uint8_t*>(written.data());
      op(m, 0).custom_options.assign(data, data + written.size());
    };
  };
  expect_errors(
      bytes, {{"expected 5 inputs, found 4", kind, [](auto& m) { op(m, 0).inputs.pop_back(); }},
              {"input 3: expected constant numbers of uint8", kind,
               [](auto& m) { op(m, 0).inputs[3] = op(m, 0).inputs[2]; }},
              {"input 1: expected int32 or int64, found float32", ErrorKind::kShape,
               [](auto& m) { op(m, 0).inputs[0] = op(m, 0).inputs[2]; }},
              {"a table: expected codes alone, found 2 weight_bits, 3 activation_bits", kind,
               options([](LowBitFields& o) { o.activation_bits = 3; })},
              {"bit planes: expected uint8 [outputs, 2, 3] for 17 inputs, found uint8[6, 2, 2]",
               kind, options([](LowBitFields& o) { o.inputs = 17; })},
              {"a matrix of 6 x 9 needs 12 coefficients, found 2", ErrorKind::kFormat,
               options([](LowBitFields& o) { o.granularity = numerics::Granularity::kChannel; })}});
}

TEST(MalformedFile, CannotExceedTheMemoryLimit) {
  const auto shared = [](schema::ModelT& m) {
    // Many tensors of different shapes read one buffer.
    const std::int32_t count = 256 * 1024;
    m.buffers[1]->data.assign(static_cast<std::size_t>(count) * 4, 0);
    graph(m).operators.resize(1);
    op(m, 0).opcode_index = 0;
    m.operator_codes[0]->deprecated_builtin_code = 2;  // CONCATENATION
    m.operator_codes[0]->builtin_code = 2;
    op(m, 0).builtin_options.Reset();
    op(m, 0).inputs.clear();
    for (std::int32_t i = 0; i < 160; ++i) {
      auto each = std::make_unique<schema::TensorT>();
      each->buffer = 1;
      const std::int32_t rest = i / 64;
      each->shape = {1 << i % 8, 1 << i / 8 % 8, 1 << rest, count >> (i % 8 + i / 8 % 8 + rest)};
      op(m, 0).inputs.push_back(static_cast<std::int32_t>(graph(m).tensors.size()));
      graph(m).tensors.push_back(std::move(each));
    }
    graph(m).outputs = op(m, 0).outputs;
  };
  expect_errors(export_circle(small_network(), CircleFlavor::kTflite),
                {{"the tensors of the file add up to more than 64 MiB and 64 times its size",
                  ErrorKind::kFormat, shared}});
}

TEST(MalformedFile, LongListsOfOperandsAreRefused) {
  expect_errors(export_circle(small_network(), CircleFlavor::kTflite),
                {{"inputs: expected at most 4096", ErrorKind::kFormat,
                  [](auto& m) { op(m, 0).inputs.assign(5000, -1); }},
                 {"outputs: expected at most 4096, found 5000", ErrorKind::kFormat,
                  [](auto& m) { op(m, 0).outputs.assign(5000, 1); }}});
}

TEST(MalformedFile, NamesBecomeOneLine) {
  const auto bytes = edited(export_circle(small_network(), CircleFlavor::kTflite), [](auto& m) {
    tensor(m, "pixels").name = "a\nb\x1b";
    tensor(m, "probabilities").name.clear();
  });
  const ir::Graph imported = import_circle(bytes);
  EXPECT_EQ(imported.value(imported.inputs()[0]).name, "a\\x0Ab\\x1B");
  EXPECT_THAT(imported.value(imported.outputs()[0]).name, testing::StartsWith("tensor "));
}

}  // namespace
}  // namespace halftone::formats::circle
