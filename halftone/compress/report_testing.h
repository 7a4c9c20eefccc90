// SPDX-License-Identifier: Apache-2.0
// What the tests of quantizers expect of their reports.
#pragma once

#include <gtest/gtest.h>

#include "halftone/compress/quantize.h"

namespace halftone::compress {

/// Two layers with these bits, an SQNR in dB above a bound, and fewer bytes than in float.
inline void expect_two_layers(const QuantizedGraph& result, int weight_bits, int activation_bits,
                              double least_sqnr) {
  ASSERT_EQ(result.layers.size(), 2U);
  for (const LayerReport& layer : result.layers) {
    EXPECT_EQ(layer.weight_bits, weight_bits);
    EXPECT_EQ(layer.activation_bits, activation_bits);
    EXPECT_GT(layer.sqnr_db, least_sqnr) << layer.name;
    EXPECT_LT(layer.encoded_bytes, layer.float_bytes);
  }
}

}  // namespace halftone::compress
