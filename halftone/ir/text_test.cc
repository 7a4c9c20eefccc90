// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/text.h"

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

TEST(Text, ShowsTheGraphInTheOrderOfExecution) {
  Graph graph;
  const ValueId x = graph.add_input("pixels", test::float_type({kBatch, 3}));
  const ValueId w = graph.add_constant("kernel", test::counting({2, 3}));
  const ValueId late = graph.add_node("late", Unary{{ActivationKind::kRelu}}, {x});
  const ValueId codes = graph.add_node("codes", Encode{test::odd_encoding()}, {x});
  const ValueId y = graph.add_node("dense", FullyConnected{{ActivationKind::kTanh}},
                                   {codes, w, kAbsent}, "probabilities");
  graph.replace_node(*graph.producer(late), Unary{{ActivationKind::kExp}}, {y});
  graph.add_output(y);
  graph.add_output(late);
  EXPECT_EQ(to_text(graph),
            "input    pixels: float32[N, 3]\n"
            "constant kernel: float32[2, 3], 24 bytes\n"
            "codes: basis(2 bits, tensor)[N, 3] = Encode(pixels) basis(2 bits, tensor)\n"
            "probabilities: float32[N, 2] = FullyConnected(codes, kernel, -) activation=Tanh\n"
            "late: float32[N, 2] = Exp(probabilities)\n"
            "output   probabilities\n"
            "output   late\n");
}

TEST(Text, ShowsControlCharactersAsQuestionMarks) {
  Graph graph;
  graph.add_output(graph.add_input("x\n\x1b[31m", test::float_type({kBatch, 3})));
  EXPECT_EQ(to_text(graph), "input    x\\x0A\\x1B[31m: float32[N, 3]\noutput   x\\x0A\\x1B[31m\n");
}

}  // namespace
}  // namespace halftone::ir
